# Prompt marks for zsh 5.3 and later (docs/marks.md has their format).
#
# zsh is started with ZDOTDIR set to this directory. The first thing to do is to put ZDOTDIR back: everything after that,
# the rest of the start-up files included, happens where the user wants it.
#
# No prompt string is touched (but for PROMPT_EOL_MARK, see below): where a prompt ends is told by the line editor, when
# it starts to read. So prompt frameworks, right prompts and prompts that end in `%` are all the same to us. There are
# three hooks (precmd, preexec, zle-line-init), each of which puts the other two back, whatever the user's files do.

# Function bodies are parsed with the aliases of the moment, and the system's zshenv has been read already. The quotes
# are for aliases of these two words themselves.
'builtin' 'unsetopt' aliases

# One field after the other, each ended by NUL: the key, the start-up, history expansion, whether the caller has a
# ZDOTDIR, and which. An array holds the key, because zsh cannot put an array into the environment, whatever ALL_EXPORT
# or `export` say. A zsh without the descriptor is not the one that we started.
typeset -ga _kai_key=()
if [[ -o interactive ]] && { IFS= read -r -d '' -u 62 '_kai_key[1]' } 2>/dev/null; then
  () {
    local startup history_expansion has_zdotdir zdotdir
    integer fd=62
    IFS= read -r -d '' -u 62 startup
    IFS= read -r -d '' -u 62 history_expansion
    IFS= read -r -d '' -u 62 has_zdotdir
    IFS= read -r -d '' -u 62 zdotdir
    # Only one digit is understood in `62<&-`.
    exec {fd}<&-
    typeset -g _kai_source="source -- ${(qq)ZDOTDIR}/hooks.zsh"
    if [[ -n $has_zdotdir ]]; then export ZDOTDIR=$zdotdir; else unset ZDOTDIR; fi
    # No start-up file after one that switched this off is read.
    [[ $startup == user ]] || setopt no_rcs
    # Again at the first prompt, after the user's files; but that is too late for the first command.
    [[ -n $history_expansion ]] || unsetopt bang_hist
    typeset -ga _kai_history=("$history_expansion")
  }

  # Counters, arrays for the same reason: the number of the last mark; the commands started; the command that was
  # reported last; whether the precmd hook has run for this prompt, and whether the command runs under a DEBUG trap. And
  # the user's PROMPT_EOL_MARK while ours is there.
  typeset -ga _kai_n=(0) _kai_c=(0) _kai_d=(0) _kai_prompt=(0) _kai_debug=() _kai_eol=()

  'builtin' 'emulate' zsh -o no_xtrace -o no_all_export -o no_warn_create_global -c "$_kai_source"
  unset _kai_source

  # The user's widget with the user's options, then ours.
  _kai_line_init_both() {
    zle _kai_user_line_init -- "$@"
    _kai_line_init
  }

  # Once, at the first moment after the user's files, with an effect that lasts.
  _kai_first() {
    precmd_functions=(${precmd_functions:#_kai_first})
    if [[ -z ${_kai_history-} ]]; then builtin unsetopt bang_hist; fi
  }

  typeset -ga precmd_functions preexec_functions
  precmd_functions+=(_kai_first)
  _kai_install
  # The system's zshrc and the user's may take two hooks out before there is a command that would run the third. What is
  # scheduled runs after the precmd hooks and before the line editor.
  'builtin' 'zmodload' zsh/sched && 'builtin' 'sched' +0 _kai_install
  'builtin' 'setopt' aliases
  [[ ! -o rcs || ! -r ${ZDOTDIR-$HOME}/.zshenv ]] || source -- "${ZDOTDIR-$HOME}/.zshenv"
else
  'builtin' 'setopt' aliases
fi
