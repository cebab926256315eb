# Prompt marks for PowerShell 7 (docs/marks.md has their format). Dot-sourced by -Command, after the user's profiles.
#
# Written to the documentation (about_Prompts, about_Pwsh, PSConsoleHostReadLine, about_Automatic_Variables) and not run yet.
#
# A module of its own holds the key and the counters: function bodies show names only, and a child sees no variables.
$null = New-Module -Name __kai -ScriptBlock {
    Set-StrictMode -Off
    $script:key = [IO.File]::ReadAllText('/dev/fd/62').Split([char]0)[0]
    # The number of the last mark; the commands started; whether one is running; whether this prompt has its marks; the
    # newest error before the command.
    $script:n = 0
    $script:c = 0
    $script:running = $false
    $script:prompted = $false
    $script:newest = $null
    $script:userPrompt = $null
    $script:userReadLine = $null

    function New-Mark([string] $kind, [string] $parameters) {
        $script:n += 1
        "`e]133;$kind;k=$script:key;n=$script:n$parameters`a"
    }

    function New-PromptStart {
        $directory = (Get-Location -PSProvider FileSystem).ProviderPath
        if (-not $directory -or $directory -match '\p{Cc}') { $directory = '' } else { $directory = ";d=$directory" }
        New-Mark 'A' ";c=$script:c$directory"
    }

    # The end of the command and the beginning of the prompt are printed, because the user's function may print. The end of
    # the prompt goes behind what it returns.
    $script:ourPrompt = {
        # The first line, because every statement sets it. A cmdlet that failed has no code, but it leaves an error; without
        # one, the code is that of the last native program.
        $succeeded = $global:?
        $code = $global:LASTEXITCODE
        Set-StrictMode -Off
        if ($script:running) {
            $script:running = $false
            if ($succeeded) { $status = 0 }
            elseif ($code -and [object]::ReferenceEquals($global:Error[0], $script:newest)) { $status = $code }
            else { $status = 1 }
            [Console]::Write((New-Mark "D;$status" ";p=;c=$script:c"))
        }
        [Console]::Write((New-PromptStart))
        # The user's prompt sees `$?` as it was.
        if (-not $succeeded) { Write-Error '' -ErrorAction Ignore }
        $text = (& $script:userPrompt) -join "`n"
        # What the host shows where a prompt is empty (about_Prompts).
        if (-not $text) { $text = 'PS>' }
        $global:LASTEXITCODE = $code
        $script:prompted = $true
        $text + (New-Mark 'B' '')
    }

    # Puts our prompt around the user's, whatever that is by now.
    function Install-Prompt {
        $present = (Get-Item -LiteralPath Function:\global:prompt -ErrorAction Ignore).ScriptBlock
        if (-not [object]::ReferenceEquals($present, $script:installed)) {
            $script:userPrompt = if ($present) { $present } else { { 'PS>' } }
            Set-Item -LiteralPath Function:\global:prompt -Value $script:ourPrompt
            # The function holds a copy.
            $script:installed = (Get-Item -LiteralPath Function:\global:prompt).ScriptBlock
        }
    }

    # The host calls this function to read a line, and runs what it returns.
    $script:ourReadLine = {
        Set-StrictMode -Off
        if (-not $script:prompted) {
            # The last command replaced the prompt. Its status cannot be had any more.
            $script:running = $false
            [Console]::Write((New-PromptStart) + (New-Mark 'B' ''))
        }
        Install-Prompt
        $line = & $script:userReadLine
        $script:prompted = $false
        $errors = $null
        $parsed = [System.Management.Automation.Language.Parser]::ParseInput("$line", [ref] $null, [ref] $errors)
        # What is empty, a comment or wrong is not run.
        if (-not $errors -and $parsed.EndBlock.Statements.Count) {
            $script:c += 1
            $script:running = $true
            $script:newest = $global:Error[0]
            # A very long text is left out.
            $told = if ("$line".Length -le 4000) { ';t=' + [Uri]::EscapeDataString("$line") } else { '' }
            [Console]::Write((New-Mark 'C' ";c=$script:c$told"))
        }
        $line
    }

    Install-Prompt
    # Without PSReadLine the host reads by itself, and nothing tells that a command starts.
    $script:userReadLine = (Get-Item -LiteralPath Function:\global:PSConsoleHostReadLine -ErrorAction Ignore).ScriptBlock
    if ($script:userReadLine) { Set-Item -LiteralPath Function:\global:PSConsoleHostReadLine -Value $script:ourReadLine }
    Export-ModuleMember
}
