# Installs ken for the current user on Windows, upgrades it in place, or removes it.
#
# NOT VERIFIED: nobody has seen this script run. Remove this line when someone has.
#
#   powershell -ExecutionPolicy Bypass -File install.ps1 [-Version 0.1.0] [-Uninstall]
#
# The archive must match a checksum in SHA256SUMS, and SHA256SUMS must have a valid SSH signature.
param(
    [string]$Version = $env:KEN_INSTALL_VERSION,
    [string]$Prefix = $(if ($env:KEN_INSTALL_PREFIX) { $env:KEN_INSTALL_PREFIX } else { Join-Path $env:LOCALAPPDATA 'ken' }),
    [string]$Mirror = $env:KEN_INSTALL_MIRROR,
    [string]$Key = $env:KEN_INSTALL_KEY,
    [string]$Checksum = '',
    [switch]$NoSignature,
    [switch]$Uninstall
)
$ErrorActionPreference = 'Stop'
Set-StrictMode -Version Latest

# Generated from packaging/release.toml. release:begin
$KenDownloads = 'https://github.com/ken-dev/ken/releases'
$KenReleaseKey = ''
# release:end

$SignatureNamespace = 'ken-release'
$Target = 'x86_64-pc-windows-msvc'
if (-not $Mirror) { $Mirror = $KenDownloads }
$Mirror = $Mirror.TrimEnd('/')
$Receipt = Join-Path $Prefix 'share/ken/receipt'

# Removes the files that a receipt lists, except those in $Keep.
function Remove-Listed([string[]]$Files, [string[]]$Keep) {
    foreach ($file in $Files) {
        if ($file.StartsWith('#') -or $file.Contains('..') -or $Keep -contains $file) { continue }
        $path = Join-Path $Prefix $file
        if (Test-Path $path) { Remove-Item -Force $path }
        $folder = Split-Path $path
        while ($folder -ne $Prefix -and (Test-Path $folder) -and -not (Get-ChildItem $folder)) {
            Remove-Item $folder
            $folder = Split-Path $folder
        }
    }
}

# Verifies the signature of SHA256SUMS in $Work with the OpenSSH client of Windows.
function Test-Signature([string]$Work) {
    $line = if ($Key) { (Get-Content -Raw $Key).Trim() } else { $KenReleaseKey }
    if (-not $line) { throw 'this installer has no release key; pass -Key FILE or -NoSignature' }
    Set-Content (Join-Path $Work 'signers') "ken-release namespaces=`"$SignatureNamespace`" $line"
    $command = "ssh-keygen -q -Y verify -f `"$Work\signers`" -I ken-release -n $SignatureNamespace -s `"$Work\SHA256SUMS.sig`" < `"$Work\SHA256SUMS`""
    & cmd /c $command
    if ($LASTEXITCODE -ne 0) { throw 'the signature of SHA256SUMS is not valid; nothing was installed' }
}

if ($Uninstall) {
    if (-not (Test-Path $Receipt)) { throw "there is no $Receipt, so this script installed nothing to $Prefix" }
    $files = @(Get-Content $Receipt)
    Remove-Item $Receipt
    Remove-Listed $files @()
    Write-Output "removed ken from $Prefix; knowledge in your repositories stays"
    exit 0
}

if ((Test-Path (Join-Path $Prefix 'bin/ken.exe')) -and -not (Test-Path $Receipt)) {
    throw "$Prefix\bin\ken.exe exists and was not installed by this script; remove it, or choose another folder with -Prefix"
}
if ($Mirror -notmatch '^(https://|http://(127\.0\.0\.1|localhost):)') { throw "$Mirror is not an https address" }

$Work = Join-Path ([IO.Path]::GetTempPath()) ("ken-" + [Guid]::NewGuid())
New-Item -ItemType Directory $Work | Out-Null
try {
    $From = if ($Version) { "$Mirror/download/v$Version" } else { "$Mirror/latest/download" }
    if (-not $Checksum -or -not $Version) {
        Invoke-WebRequest -UseBasicParsing "$From/SHA256SUMS" -OutFile "$Work\SHA256SUMS"
        if (-not $NoSignature -and -not $Checksum) {
            Invoke-WebRequest -UseBasicParsing "$From/SHA256SUMS.sig" -OutFile "$Work\SHA256SUMS.sig"
            Test-Signature $Work
        }
        $sums = Get-Content "$Work\SHA256SUMS"
        if (-not $Version) {
            $Version = $sums | Select-String "  ken-(.*)-$Target\.zip$" | ForEach-Object { $_.Matches[0].Groups[1].Value }
        }
        if (-not $Checksum) {
            $Checksum = $sums | Select-String "^([0-9a-f]{64})  ken-$([regex]::Escape($Version))-$Target\.zip$" | ForEach-Object { $_.Matches[0].Groups[1].Value }
        }
    }
    if (-not $Checksum) { throw "the release has no build for $Target" }
    $Stem = "ken-$Version-$Target"
    Invoke-WebRequest -UseBasicParsing "$From/$Stem.zip" -OutFile "$Work\$Stem.zip"
    $found = (Get-FileHash -Algorithm SHA256 "$Work\$Stem.zip").Hash.ToLower()
    if ($found -ne $Checksum) { throw "$Stem.zip has the checksum $found instead of $Checksum; nothing was installed" }
    Expand-Archive "$Work\$Stem.zip" "$Work\unpacked"
    $tree = "$Work\unpacked\$Stem"
    # A program that does not start here must not replace one that does.
    & "$tree\bin\ken.exe" --version | Out-Null
    if ($LASTEXITCODE -ne 0) { throw 'this build of ken does not start on this machine' }
    $old = if (Test-Path $Receipt) { @(Get-Content $Receipt) } else { @() }
    $files = @(Get-ChildItem -Recurse -File $tree | ForEach-Object { $_.FullName.Substring($tree.Length + 1).Replace('\', '/') } | Sort-Object)
    foreach ($file in $files) {
        $to = Join-Path $Prefix $file
        New-Item -ItemType Directory -Force (Split-Path $to) | Out-Null
        # Windows does not replace a running program, but lets it be renamed.
        if (Test-Path $to) { Move-Item -Force $to "$to.old" }
        Copy-Item "$tree\$file" $to
        Remove-Item -Force "$to.old" -ErrorAction SilentlyContinue
    }
    Remove-Listed $old $files
    New-Item -ItemType Directory -Force (Split-Path $Receipt) | Out-Null
    Set-Content $Receipt (@('# Files of ken, written by install.ps1. Remove them with: install.ps1 -Uninstall', "# version $Version") + $files)
    Write-Output "installed ken $Version to $Prefix\bin\ken.exe; add $Prefix\bin to your PATH"
} finally {
    Remove-Item -Recurse -Force $Work
}
