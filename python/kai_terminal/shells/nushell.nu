# Prompt marks for nushell (docs/marks.md has their format). Run with 0.115. Sourced by --execute, after the user's files.
#
# Strings and numbers in `$env` reach every child, and so would a key among them. It is captured by closures, of which
# `view source` shows the text and not what they hold; the counters are in a record, which has no form outside nushell.
# Descriptors cannot be closed here: the two pipes stay open, and are empty.
#
# A multi-line command has no P mark: its indicator is also drawn for a whole command that was pasted in several lines, so
# it does not tell that more is wanted.

# The block keeps our names out of the user's scope. `--env`: what it sets in `$env` stays.
do --env {
  let key = open --raw /dev/fd/62 | decode utf-8 | split row (char nul) | first
  let mark = {|kind: string, number: int, rest: string| $"\u{1b}]133;($kind);k=($key);n=($number)($rest)\u{7}" }

  # The number of the last mark, how many commands were started, and whether one is running.
  $env.__kai = {n: 0, c: 0, running: false}

  # An indicator with the end of the prompt behind it. It is drawn again at every key, with the number that it has. One of
  # ours is told by its text, and left as it is; one that calls a copy of ours prints the same mark twice, which is the same
  # as a prompt drawn again.
  let ended = {|indicator|
    if ($indicator | describe) == closure and (view source $indicator) =~ __kai {
      $indicator
    } else {{||
      let shown = if ($indicator | describe) == closure { do $indicator } else { $indicator }
      $"($shown)(do $mark B $env.__kai.n '')"
    }}
  }

  # The marks of nushell itself carry no key: left on, they would only be counted as foreign.
  $env.config.shell_integration.osc133 = false
  $env.config.shell_integration.osc633 = false

  # The last hook before a command, because what the user's hooks print is not the command's.
  $env.config.hooks.pre_execution = ($env.config.hooks.pre_execution | append {||
    let text = commandline
    # This runs for an empty line and for a comment too.
    if $text !~ '^\s*(#[^\n]*\s*)*$' {
      $env.__kai.n += 1
      $env.__kai.c += 1
      $env.__kai.running = true
      # A very long text is left out.
      let told = if ($text | str length) <= 4000 { $";t=($text | url encode --all)" } else { '' }
      print --no-newline (do $mark C $env.__kai.n $";c=($env.__kai.c)($told)")
    }
  })

  # The first hook before a prompt, for the same reason; what they print belongs to the prompt.
  $env.config.hooks.pre_prompt = ($env.config.hooks.pre_prompt | prepend {||
    if $env.__kai.running {
      $env.__kai.running = false
      $env.__kai.n += 1
      print --no-newline (do $mark $"D;($env.LAST_EXIT_CODE)" $env.__kai.n $";p=;c=($env.__kai.c)")
    }
    $env.__kai.n += 1
    let directory = if $env.PWD =~ '[[:cntrl:]]' { '' } else { $";d=($env.PWD)" }
    print --no-newline (do $mark A $env.__kai.n $";c=($env.__kai.c)($directory)")
    # Of this prompt's B. The indicators are wrapped at every prompt, whatever they are by now.
    $env.__kai.n += 1
    $env.PROMPT_INDICATOR = (do $ended ($env.PROMPT_INDICATOR? | default '> '))
    $env.PROMPT_INDICATOR_VI_INSERT = (do $ended ($env.PROMPT_INDICATOR_VI_INSERT? | default ': '))
    $env.PROMPT_INDICATOR_VI_NORMAL = (do $ended ($env.PROMPT_INDICATOR_VI_NORMAL? | default '> '))
  })
}
