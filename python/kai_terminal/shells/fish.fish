# Prompt marks for fish 3.2 and later (docs/marks.md has their format). Sourced by --init-command, after the user's files.
#
# Function bodies hold names only, never the key. fish has no way to close a descriptor: the two pipes stay open, and are
# empty.

# Unexported whatever the environment had under these names: the key; the number of the last mark, of this prompt's
# B; how many commands were started; the wrappings of the user's prompt so far, and the one that counts.
set -gu __kai_key
set -gu __kai_n 0
set -gu __kai_b 0
set -gu __kai_c 0
set -gu __kai_wrappings 0
set -gu __kai_wrapping 0
read --null --global __kai_key </dev/fd/62

# Prints the mark $argv[1] with the next number and the parameters $argv[2], to the terminal, wherever output goes.
function __kai_mark
    set -g __kai_n (math $__kai_n + 1)
    printf '\e]133;%s;k=%s;n=%s%s\a' $argv[1] $__kai_key $__kai_n $argv[2] >/dev/tty
end

function __kai_preexec --on-event fish_preexec
    # fish runs a line that holds nothing but a comment, and its status would be the last command's.
    string match -qr '^\s*(#.*)?$' -- $argv[1]
    and return
    set -g __kai_c (math $__kai_c + 1)
    set -l parameters ";c=$__kai_c"
    # A very long text is left out.
    if test (string length -- "$argv[1]") -le 4000
        set parameters "$parameters;t="(string escape --style=url -- "$argv[1]" | string join '%0A')
    end
    __kai_mark C $parameters
    set -g __kai_running yes
end

function __kai_postexec --on-event fish_postexec
    # The first line, because every command sets them.
    set -l statuses $status $pipestatus
    set -q __kai_running
    or return
    set -e __kai_running
    __kai_mark "D;$statuses[1]" ";p=$statuses[2..-1];c=$__kai_c"
end

# Before a prompt, once; fish may call `fish_prompt` more often, and then the same B is printed again.
function __kai_prompt_begins --on-event fish_prompt
    __kai_wrap_prompt
    __kai_bind
    set -l parameters ";c=$__kai_c"
    string match -qr '[[:cntrl:]]' -- $PWD
    or set parameters "$parameters;d=$PWD"
    __kai_mark A $parameters
    set -g __kai_n (math $__kai_n + 1)
    set -g __kai_b $__kai_n
end

# Enter goes on in the same editor where a command is unfinished. Nothing tells that but the key itself, so where Enter has
# its usual meaning, it gets one more. A newline that is pasted does not come this way. The user's own bindings come before
# these, and `fish_vi_key_bindings` and its like put the usual ones back.
function __kai_bind
    for mode in default insert
        bind --preset -M $mode \r 2>/dev/null | string match -qr ' execute$'
        and bind --preset -M $mode \r __kai_enter
    end
end

function __kai_enter
    commandline --is-valid
    set -l validity $status
    # A backslash at the end is valid, and is not run either. With a `#` before it, it may be a comment's, and is.
    string match -qr '^[^#]*(?<!\\\\)(\\\\\\\\)*\\\\$' -- (commandline)[-1]
    and set validity 2
    # While completions are shown, Enter takes one.
    if test $validity -eq 2; and not commandline --paging-mode
        __kai_mark P
    end
    commandline -f execute
end

# A line with a syntax error is not run: fish says why and leaves it in the editor, where the next one would be appended to
# it. It is taken out, by what Ctrl-C does, because the buffer cannot be set while this runs; and there is a new prompt, as
# in other shells.
function __kai_rejected --on-event fish_posterror
    commandline -f cancel-commandline
end

# Ctrl-C empties the editor and draws the prompt that was there; that the shell has got it is told by a new one.
function __kai_cancelled --on-event fish_cancel
    __kai_prompt_begins
    commandline -f repaint
end

# The end of a prompt can only be told from inside of it. The user's function is called first and alone, so that it finds
# `$status` and `$pipestatus` as they are; and it is wrapped again whenever it was replaced. What replaces it may call a
# copy of it (a virtual environment does): so each wrapping has a number, and only the newest one prints. The copy may
# come back in its place as well: then its number is the one that counts.
function __kai_wrap_prompt
    set -l wrapped (functions fish_prompt | string match -r '^\s*__kai_prompt_ends (\d+)$')
    if set -q wrapped[2]
        set -g __kai_wrapping $wrapped[2]
        return
    end
    set -g __kai_wrappings (math $__kai_wrappings + 1)
    set -g __kai_wrapping $__kai_wrappings
    functions -q fish_prompt
    and functions -c fish_prompt __kai_user_prompt_$__kai_wrapping
    or function __kai_user_prompt_$__kai_wrapping
    end
    eval "function fish_prompt
        __kai_user_prompt_$__kai_wrapping
        __kai_prompt_ends $__kai_wrapping
    end"
end

function __kai_prompt_ends
    test $argv[1] = $__kai_wrapping
    and printf '\e]133;B;k=%s;n=%s\a' $__kai_key $__kai_b
end
