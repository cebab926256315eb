# Prompt marks for shells that have nothing but a start-up file and expansions in PS1: dash, busybox ash, mksh, ksh93, yash
# (docs/marks.md has the format). Written in what they have in common.
#
# There is no hook that would run before or after a command. So there are an A mark, with the status, and a B mark around
# the primary prompt, and where PS2 is expanded a P mark. Whoever assigns PS1 anew loses them until the shell ends.
#
# Prompt strings hold names only, never the key: a child that inherits an exported PS1 has no key, and it expands to
# nothing. An unexported variable holds the key. `set -a` exports what is assigned, and the key is not assigned again.

# They may have come with the environment, exported.
unset kai_key kai_shell kai_startup kai_login kai_env kai_n kai_a kai_b kai_p kai_z kai_unfit kai_escape kai_rest kai_open kai_close \
  kai_before kai_after kai_more

# One field a line. Numbers below 10, because dash knows no others.
{
  read -r kai_key
  read -r kai_shell
  read -r kai_startup
  read -r kai_login
  read -r kai_env
} <&8
exec 8<&- 9<&-

# All that holds the key is assigned here, before the user's files can say `set -a`.
kai_n=0
kai_escape=$(printf '\033')
kai_z=$(printf '\007')
kai_a="$kai_escape]133;A;k=$kai_key;n="
kai_b="$kai_escape]133;B;k=$kai_key;n="
kai_p="$kai_escape]133;P;k=$kai_key;n="

# What tells the line editor that something has no width.
case $kai_shell in
  ash | yash) kai_open='\[' kai_close='\]' ;;
  # The first character of PS1 is the bracket if a carriage return follows it.
  mksh) kai_open=$(printf '\001') kai_close=$kai_open ;;
  *) kai_open='' kai_close='' ;;
esac

# The working directory becomes empty (not known) where it holds something that would end the mark or that the shell would
# replace in a prompt: a backslash begins an escape in ash and yash, `!` is the number of the command in ksh93 and in a yash
# that is called `sh`. The pattern stays in a variable, because a `!` in PS1 itself is replaced as well.
case $kai_shell in
  ash | yash) kai_unfit='*[[:cntrl:]\\]*' ;;
  ksh93 | yash-sh) kai_unfit='*[[:cntrl:]!]*' ;;
  *) kai_unfit='*[[:cntrl:]]*' ;;
esac
kai_rest='${PWD+;d=${PWD##$kai_unfit}}'

# The user's own ENV, which this file stands in for. (yash has another way to it, and an ENV that nobody touched.)
if [ "$kai_shell" != yash ]; then
  unset ENV
  if [ -n "$kai_env" ]; then
    export ENV="$kai_env"
  fi
fi

# The user's files. A login shell's are read by hand too, because a profile that sets ENV would keep the shell from
# reading this file.
if [ "$kai_startup" = user ]; then
  if [ -n "$kai_login" ] && [ "$kai_shell" = yash ]; then
    if [ -r "$HOME/.yash_profile" ]; then . "$HOME/.yash_profile"; fi
  elif [ -n "$kai_login" ]; then
    if [ -r /etc/profile ]; then . /etc/profile; fi
    if [ -r "$HOME/.profile" ]; then . "$HOME/.profile"; fi
  fi
  # mksh and ksh93 have a file of their own where ENV is not set, yash has one always.
  case $kai_shell:${ENV+set} in
    mksh:) if [ -r "$HOME/.mkshrc" ]; then . "$HOME/.mkshrc"; fi ;;
    # `-L` is a search along YASH_LOADPATH.
    yash:*) if [ -r "$HOME/.yashrc" ]; then . "$HOME/.yashrc"; else . -L initialization/default; fi ;;
    ksh93:) if [ -r "$HOME/.kshrc" ]; then . "$HOME/.kshrc"; fi ;;
    *) if [ -n "${ENV-}" ] && [ -r "$ENV" ]; then . "$ENV"; fi ;;
  esac
fi

# ksh93 would set it later.
if [ -z "${PS1+set}" ]; then
  if [ "$(id -u)" = 0 ]; then PS1='# '; else PS1='$ '; fi
fi

# `$?` is that of the last command still: nothing has run since. mksh has a PIPESTATUS, but `[*]` runs together where IFS
# is empty, and `[@]` splits: the rest of the prompt is then lost, the end of the mark with it.
kai_before=$kai_open'${kai_key:+$kai_a$((kai_n+=1));s=$?'$kai_rest'$kai_z}'$kai_close
kai_after=$kai_open'${kai_key:+$kai_b$((kai_n+=1))$kai_z}'$kai_close
kai_more=$kai_open'${kai_key:+$kai_p$((kai_n+=1))$kai_z}'$kai_close
PS1=$kai_before${PS1-}$kai_after
case $kai_shell in
  mksh) PS1=$kai_open$(printf '\r')$PS1 ;;
  ksh93) ;;
  *) PS2=$kai_more${PS2-} ;;
esac
# yash prefers these two where they are set.
if [ "$kai_shell" = yash ]; then
  if [ -n "${YASH_PS1+set}" ]; then YASH_PS1=$kai_before$YASH_PS1$kai_after; fi
  if [ -n "${YASH_PS2+set}" ]; then YASH_PS2=$kai_more$YASH_PS2; fi
fi

unset kai_before kai_after kai_more kai_shell kai_startup kai_login kai_env kai_escape kai_rest kai_open kai_close
