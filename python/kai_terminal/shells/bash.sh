# Prompt marks for bash 4.4 and later (docs/marks.md has their format).
#
# bash reads this as its rcfile, or through ENV where it starts as a login shell or as `sh`. It defines the hooks, reads
# the user's own files, and then wraps the prompts. Two facts shape everything below:
#
# - Prompt strings, function bodies and PROMPT_COMMAND are public: a user exports, saves and prints them. So they hold
#   names only. The key lives in an array, because bash cannot put an array into the environment: neither `export` nor
#   `set -a` gives it to a child. A child that inherits our prompt strings has no key, and they expand to nothing.
# - The user may replace anything at any time, so whichever part survives mends the others: the late hook wraps the
#   prompts again and puts the early hook back; PS0 puts the late hook back.

# The system's file has been read already and may have defined aliases. Function bodies are parsed with the aliases of
# the moment, so there are none while ours are parsed. The backslash is for an alias of `shopt` itself.
\shopt -u expand_aliases

# One field after the other, each ended by NUL: the key, the mode, the start-up, history expansion, the user's ENV.
# Descriptors, because argv and the environment can be read by others.
declare -a __kai_key
IFS= read -r -d '' -u 62 '__kai_key[0]'
IFS= read -r -d '' -u 62 __kai_mode
IFS= read -r -d '' -u 62 __kai_startup
IFS= read -r -d '' -u 62 __kai_history
IFS= read -r -d '' -u 62 __kai_env
exec 62<&- 63<&-

# The route through ENV leaves traces: the variable itself, and for a login shell the POSIX mode that made bash read it.
case $__kai_mode in
  login | posix)
    unset ENV
    [[ -z $__kai_env ]] || export ENV=$__kai_env
    ;;
esac
if [[ $__kai_mode == login ]]; then
  set +o posix
  # POSIX mode switched this one on and leaving it does not switch it off; the history file has another name there.
  shopt -u inherit_errexit
  [[ ${HISTFILE-} != ~/.sh_history ]] || HISTFILE=~/.bash_history
fi

# Counters, arrays for the same reason as the key: the number of the last mark; the commands started; the command that
# was reported last; the command after which the late hook last ran.
declare -a __kai_n=(0) __kai_c=(0) __kai_d=(0) __kai_seen=(0)
# Never assigned elements. Their subscripts are arithmetic that a prompt string can do without a subshell.
declare -a __kai_none=()

# What the prompts print before the number, and how a mark ends.
declare -a __kai_a=($'\e]133;A;k='"${__kai_key[0]};n=") __kai_b=($'\e]133;B;k='"${__kai_key[0]};n=")
declare -a __kai_p=($'\e]133;P;k='"${__kai_key[0]};n=") __kai_x=($'\e]133;C;k='"${__kai_key[0]};n=") __kai_z=($'\a')

# bash 5.1 made PROMPT_COMMAND an array whose elements all see the same `$?`, PIPESTATUS and `$_`. Before that, a command
# in front of the user's would cost them those, so there is only the late hook, and the A mark carries status and stages.
[[ ${BASH_VERSINFO[0]} -gt 5 || ${BASH_VERSINFO[0]} -eq 5 && ${BASH_VERSINFO[1]} -ge 1 ]] && __kai_array=1 || __kai_array=
# Those stages: `[@]` joins with blanks even where IFS is empty, but an IFS that holds digits splits them in a prompt.
[[ $__kai_array ]] && __kai_stages= || __kai_stages=';p=${PIPESTATUS[@]-}'

# The prompt strings. Every expansion has a default or a guard: `set -u` would otherwise make an error of it, and an
# error inside PS0 swallows the user's command. The working directory becomes empty (not known) where it holds a control
# character, which would end the mark.
__kai_ps1_a='\[${__kai_key:+$__kai_a$((__kai_n+=1));s=$?'$__kai_stages';c=$__kai_c${PWD+;d=${PWD//*[[:cntrl:]]*}}$__kai_z}\]'
__kai_ps1_b='\[${__kai_key:+$__kai_b$((__kai_n+=1))$__kai_z}\]'
__kai_ps2='\[${__kai_key:+$__kai_p$((__kai_n+=1))$__kai_z}\]'
# PS0 knows no `\[`: it would print it.
__kai_ps0='${__kai_key:+$__kai_x$((__kai_n+=1));c=$((__kai_c+=1))$__kai_z}'
# In front of it: if the late hook did not run at the last prompt, it was removed. Arithmetic can only put a number into
# PROMPT_COMMAND, so that number is the name of a function, and the index keeps clear of the user's elements.
__kai_mend='${__kai_key:+${__kai_none[__kai_seen==__kai_c?0:(PROMPT_COMMAND[133]=133)]-}}'

# The elements of PROMPT_COMMAND. No output: `set -x` traces to 2, and a DEBUG trap of the user, which runs for the call,
# prints to 1 (bash-preexec's looks whether 1 is a terminal, and lets the call pass uncounted). Newlines and no
# semicolons, because bash-preexec splits at both to find out what belongs to the prompt.
__kai_element_early=$'{\n__kai_early\n} >/dev/null 2>&1'
__kai_element_late=$'{\n__kai_late\n} >/dev/null 2>&1'

# The first element: the command has ended, and the user's prompt commands have not yet printed anything. Written to
# /dev/tty, which `exec >file` does not move. Hooks return 0: else they would set off an ERR trap, or `set -e`.
__kai_early() {
  local status=$? stages="${PIPESTATUS[@]-}"
  if [[ ${__kai_d[0]} != "${__kai_c[0]}" ]]; then
    __kai_d[0]=${__kai_c[0]}
    builtin printf '\e]133;D;%s;k=%s;n=%s;p=%s;c=%s\a' \
      "$status" "${__kai_key[0]}" "$((__kai_n += 1))" "$stages" "${__kai_c[0]}" >/dev/tty
  fi
  return 0
}

# The last element: wraps the prompts, whatever they are by now, and looks after the first.
__kai_late() {
  # `local -` makes the options local, so that an unset variable can be asked for its attributes under `set -u`.
  local - rest
  set +u
  __kai_seen[0]=${__kai_c[0]}
  if ! __kai_wrap; then
    # A prompt that cannot carry marks gets them in front of it.
    builtin printf '%s%s;c=%s\a%s%s\a' "${__kai_a[0]}" "$((__kai_n += 1))" "${__kai_c[0]}" \
      "${__kai_b[0]}" "$((__kai_n += 1))" >/dev/tty
  fi
  if [[ -z $__kai_array || ${PROMPT_COMMAND@a} == *r* ]]; then return 0; fi
  case ${PROMPT_COMMAND[0]-} in
    # bash-preexec takes its installer out of element 0, and only there: not moved until it has.
    "$__kai_element_early" | *__bp_install*) ;;
    # `PROMPT_COMMAND+='; mine'`, or the long way: ours goes back to an element of its own, so that the rest sees `$?`.
    "$__kai_element_early"[$';\n']*)
      rest=${PROMPT_COMMAND[0]#"$__kai_element_early"?}
      PROMPT_COMMAND[0]=${rest# }
      PROMPT_COMMAND=("$__kai_element_early" "${PROMPT_COMMAND[@]}")
      ;;
    *) PROMPT_COMMAND=("$__kai_element_early" "${PROMPT_COMMAND[@]}") ;;
  esac
  return 0
}

# Puts the marks into the prompts. Fails if the primary prompt cannot carry them.
__kai_wrap() {
  local mend=$__kai_mend
  if ! shopt -q promptvars; then
    # The shell would show our strings instead of expanding them.
    __kai_unwrap PS0 "$__kai_mend" "$__kai_ps0"
    __kai_unwrap PS1 "$__kai_ps1_a" "$__kai_ps1_b"
    __kai_unwrap PS2 "$__kai_ps2" ''
    return 1
  fi
  if [[ ${PS2-} != "$__kai_ps2"* ]] && __kai_unwrap PS2 "$__kai_ps2" ''; then PS2=$__kai_ps2$PS2; fi
  # A failed assignment in PS0 would swallow a command, so it is not tried on a read-only variable. POSIX mode has no
  # functions that are named by a number.
  if [[ -z $__kai_array || -o posix || ${PROMPT_COMMAND@a} == *r* ]]; then mend=; fi
  if [[ ${PS0-} != *"$mend$__kai_ps0" || -z $mend && ${PS0-} == *"$__kai_mend"* ]] &&
    __kai_unwrap PS0 "$__kai_mend" "$__kai_ps0"; then PS0=$PS0$mend$__kai_ps0; fi
  if [[ ${PS1-} == "$__kai_ps1_a"*"$__kai_ps1_b" ]]; then return 0; fi
  __kai_unwrap PS1 "$__kai_ps1_a" "$__kai_ps1_b" && PS1=$__kai_ps1_a$PS1$__kai_ps1_b
}

# Takes two strings out of the variable named $1, which is empty afterwards if it was unset. Fails if it is read-only.
__kai_unwrap() {
  local -n variable=$1
  if [[ ${variable@a} == *r* ]]; then return 1; fi
  variable=${variable-}
  variable=${variable//"$2"}
  variable=${variable//"$3"}
}

# Called through PROMPT_COMMAND[133], after a command before which the late hook was found to be missing.
if [[ $__kai_mode != posix ]]; then
  function 133 {
    {
      builtin unset 'PROMPT_COMMAND[133]'
      if [[ ${PROMPT_COMMAND[*]-} != *"$__kai_element_late"* ]]; then PROMPT_COMMAND+=("$__kai_element_late"); fi
      __kai_late
    } >/dev/null 2>&1
  }
fi

# Once, after the user's files.
__kai_install() {
  local -
  set +u
  unset __kai_mode __kai_startup __kai_history __kai_env __kai_stages
  unset -f __kai_install
  # `allexport` may have come with the environment, in SHELLOPTS. Of the key it makes nothing, but of these it does.
  builtin export -n "${!__kai_@}"
  builtin export -nf 133
  builtin export -nf __kai_early __kai_late __kai_wrap __kai_unwrap
  # `__kai_wrap` alone: the hook runs before the first prompt, unless PROMPT_COMMAND is read-only.
  __kai_wrap || :
  if [[ ${PROMPT_COMMAND@a} == *r* ]]; then return 0; fi
  if [[ $__kai_array ]]; then
    PROMPT_COMMAND+=("$__kai_element_late")
  else
    PROMPT_COMMAND=${PROMPT_COMMAND:+$PROMPT_COMMAND$'\n'}$__kai_element_late
  fi
}

\shopt -s expand_aliases

# The user's files, here and not in a function, where their `declare` would be local; and not behind `&&`, where `set -e`
# would not hold. bash has read the system's bashrc itself.
if [[ $__kai_startup == user ]]; then
  case $__kai_mode in
    interactive) if [[ -r ~/.bashrc ]]; then . ~/.bashrc; fi ;;
    posix) if [[ -n ${ENV-} && -r $ENV ]]; then . "$ENV"; fi ;;
    login)
      if [[ -r /etc/profile ]]; then . /etc/profile; fi
      if [[ -r ~/.bash_profile ]]; then . ~/.bash_profile
      elif [[ -r ~/.bash_login ]]; then . ~/.bash_login
      elif [[ -r ~/.profile ]]; then . ~/.profile; fi
      ;;
  esac
fi
{
  if [[ -z $__kai_history ]]; then set +H; fi
  # PS0, ${name@a} and `local -` came with 4.4. Before that there are no marks.
  if [[ ${BASH_VERSINFO[0]} -gt 4 || ${BASH_VERSINFO[0]} -eq 4 && ${BASH_VERSINFO[1]} -ge 4 ]]; then __kai_install; fi
} >/dev/null 2>&1
