# The hooks of `.zshenv`.
#
# This file is sourced under `emulate zsh -c`, so its functions always run with the options that they are written for,
# whatever the user's are, and `set -x` does not trace even their first line (zshbuiltins(1), emulate). They return 0, for
# ERR_EXIT and ZERR. An option that should stay cannot be set here, and what is called from here has our options: the two
# functions at the end of `.zshenv` exist for that.

# Before a prompt: the end of the command, and the beginning of the prompt. What the user's own hooks print after this
# belongs to the prompt.
_kai_precmd() {
  local -a status_and_stages=($? "${pipestatus[@]}")
  integer code=$status_and_stages[1]
  local -a stages=("${(@)status_and_stages[2,-1]}")
  # A DEBUG trap ran before the first line, and `pipestatus` is the trap's: the stages are not known.
  if [[ -n $_kai_debug ]] || (( ! ${stages[(Ie)$code]} )); then stages=(); fi
  _kai_install
  _kai_end_of_line
  if (( _kai_d[1] != _kai_c[1] )); then
    _kai_d[1]=$_kai_c[1]
    _kai_print "D;$code" ";p=${(j: :)stages};c=$_kai_c[1]"
  fi
  local directory=
  [[ $PWD == *[[:cntrl:]]* ]] || directory=";d=$PWD"
  _kai_print A ";c=$_kai_c[1]$directory"
  _kai_prompt[1]=1
  # Without the line editor nobody will say where the prompt ends.
  [[ -o zle ]] || _kai_print B
  return 0
}

# Before a command.
_kai_preexec() {
  _kai_install
  local text=
  # A history that ignores the line hides it from us too; then, and where it is very long, there is no text.
  if [[ -n $1 && $#1 -le 4000 ]]; then _kai_encode "$1"; fi
  _kai_prompt[1]=0
  # Asking for the traps takes a fork, so only for what looks like a pipeline, which forks anyway.
  _kai_debug=()
  if [[ $3 == *\|* && $3$(builtin trap) == *DEBUG* ]]; then _kai_debug=(yes); fi
  _kai_c[1]=$(( _kai_c[1] + 1 ))
  _kai_print C ";c=$_kai_c[1]${text:+;t=$text}"
  # zsh marks the end of an unfinished last line and fills up the row before it calls precmd. A mark inside of that is
  # the only way to tell where the output ended. It is there while the command runs, and not if it would be exported.
  if [[ -o prompt_sp && -o prompt_cr && ${(t)PROMPT_EOL_MARK} != *(export|readonly)* ]]; then
    _kai_eol=(${PROMPT_EOL_MARK+set} "${PROMPT_EOL_MARK-}")
    PROMPT_EOL_MARK=$'%{\e]133;E;k='$_kai_key[1]$';n='$(( _kai_n[1] + 1 ))$'\a%}'"${PROMPT_EOL_MARK-%B%S%#%s%b}"
  fi
  return 0
}

# The line editor starts to read: the prompt, or a secondary one, has been printed.
_kai_line_init() {
  case $CONTEXT in
    start)
      if (( ! _kai_prompt[1] )); then
        # The precmd hook was removed by the last command, whose status cannot be had any more.
        _kai_install
        _kai_end_of_line
        _kai_d[1]=$_kai_c[1]
        _kai_print A ";c=$_kai_c[1]"
      fi
      _kai_prompt[1]=0
      _kai_print B
      ;;
    cont) _kai_print P ;;
  esac
  return 0
}

# Takes our end mark out again, and counts it.
_kai_end_of_line() {
  if [[ ${PROMPT_EOL_MARK-} == *$_kai_key[1]* ]]; then
    if (( $#_kai_eol > 1 )); then PROMPT_EOL_MARK=$_kai_eol[2]; else unset PROMPT_EOL_MARK; fi
    if [[ -o prompt_sp && -o prompt_cr ]]; then _kai_n[1]=$(( _kai_n[1] + 1 )); fi
  fi
  _kai_eol=()
}

# Prints the mark $1 with our key, the next number and the parameters $2. To the terminal, which `exec 2>file` does not
# move.
_kai_print() {
  _kai_n[1]=$(( _kai_n[1] + 1 ))
  builtin print -rn -- $'\e]133;'"$1;k=$_kai_key[1];n=$_kai_n[1]${2-}"$'\a' >/dev/tty
}

# Sets `text` of the caller to $1, percent-encoded.
_kai_encode() {
  text=${1//\%/%25}
  text=${text//;/%3B}
  local -i code
  local character
  if [[ $text == *[[:cntrl:]]* ]]; then
    for code in {1..31} 127; do
      character=${(#)code}
      text=${text//"$character"/%${(l:2::0:)$(( [##16] code ))}}
    done
  fi
}

# Puts the hooks where they belong. Ours is the first precmd hook, because the next one may print, and the last preexec
# hook, for the same reason.
_kai_install() {
  [[ ${precmd_functions[1]-} == _kai_precmd ]] || precmd_functions=(_kai_precmd ${precmd_functions:#_kai_precmd})
  [[ ${preexec_functions[-1]-} == _kai_preexec ]] || preexec_functions=(${preexec_functions:#_kai_preexec} _kai_preexec)
  case ${widgets[zle-line-init]-} in
    user:_kai_line_init | user:_kai_line_init_both) ;;
    '') builtin zle -N zle-line-init _kai_line_init ;;
    *)
      # `zle -A` gives the user's widget a second name, under which it is called.
      builtin zle -A zle-line-init _kai_user_line_init
      builtin zle -N zle-line-init _kai_line_init_both
      ;;
  esac
  return 0
}
