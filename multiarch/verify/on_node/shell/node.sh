# The report about a node: its system, the programs that run pods, how its kubelet registers, its boot.

# program NAME PID FILE: its file, header and version; PID and FILE may be empty
program() {
  executable='' hex='' emulator='' fault='' version=''
  if [ -n "$2" ]; then
    running "$2"
  else
    executable=$3
    [ -n "$executable" ] || executable=$(command -v "$1")
    if [ -n "$executable" ]; then
      hex=$(header "$executable")
      [ -n "$hex" ] || fault="can't read $executable"
    else
      fault="$1 is not on PATH"
    fi
  fi
  if [ -n "$executable" ]; then
    version=$(limited 10 "$executable" --version)
    code=$?
    case $code in
      0) version=$(printf '%s\n' "$version" | first_line) ;;
      137) fault=${fault:-"--version does not end"} version='' ;;
      *)
        version=''
        fault=${fault:-"--version ended with exit code $code: $(limited 10 "$executable" --version 2>&1 | first_line)"}
        ;;
    esac
  fi
  put program "$1" "$executable" "$hex" "$version" "$fault"
}

# Bottlerocket has no shell: Run Command reaches its control container, which may query the API.
bottlerocket() {
  put bottlerocket "$(limited 20 apiclient get os settings.kubernetes.node-labels settings.kubernetes.node-taints 2>&1 | cut -c 1-4000)"
}

report_kubelet() {
  put kubelet "$kubelet"
  printf '%s\n' "$flags" | while IFS= read -r argument; do [ -z "$argument" ] || put flag "$argument"; done
  [ -z "$files" ] || printf '%s\n' "$files"
}

# The file of the running containerd's configuration.
containerd_settings() {
  file=$(arguments "$1" | while IFS= read -r argument; do
    case $argument in
      --config=*) printf '%s\n' "${argument#*=}" ;;
      --config | -c) IFS= read -r argument; printf '%s\n' "$argument" ;;
    esac
  done | sed -n '$p')
  # Tables may be written in one line.
  tr '{},' '\n\n\n' <"${file:-/etc/containerd/config.toml}"
}

# What could open a door is taken out: certificates, keys, tokens, passwords, signatures.
masked() {
  sed -E -e '/-----BEGIN/,/-----END/s/.*/[masked]/' \
    -e 's#^[[:space:]]*[A-Za-z0-9+/=]{16,}[[:space:]]*$#[masked]#' \
    -e 's/(bearer|basic) +[^[:space:]]+/\1 [masked]/gI' \
    -e 's/eyJ[A-Za-z0-9_.-]{10,}/[masked]/g' \
    -e 's/k8s-aws-v1\.[A-Za-z0-9_-]*/[masked]/g' \
    -e 's/(AKIA|ASIA)[A-Z0-9]{16}/[masked]/g' \
    -e 's#://[^/@[:space:]]*:[^/@[:space:]]*@#://[masked]@#g' \
    -e 's#(hooks\.slack\.com/services/)[^[:space:]]+#\1[masked]#g' \
    -e 's/(gh[pousr]_|github_pat_|glpat-|xox[a-z]-|hvs\.)[A-Za-z0-9_-]+/\1[masked]/g' \
    -e 's/((^|[[:space:]])(-u|--user) +)[^[:space:]:]+:[^[:space:]]+/\1[masked]/g' \
    -e 's#((^|[[:space:]])-p +)[^[:space:]/-][^[:space:]]*#\1[masked]#g' \
    -e 's/(--?[a-z0-9-]*(token|secret|passw|passphrase|cluster-ca|(api|app|license)-key|activation-code)[a-z0-9-]* +)[^[:space:]]+/\1[masked]/gI' \
    -e "s/((token|secret|passwd|password|passphrase|pwd|authorization|\"auth|credential|signature|(api|app|access|license|private).?key|activation.?code|certificateAuthority|-data|cluster-ca)[a-z0-9_-]*[\"']? *[=:] *)(\"[^\"]*\"|'[^']*'|[^[:space:]&]+)/\\1[masked]/gI" \
    -e 's#[A-Za-z0-9+/]{40,}={0,2}#[masked]#g'
}

# log NAME COUNT: the last lines of the input, masked and cut
log() { masked | tail -n "$2" | cut -c "1-$width" | while IFS= read -r text; do put log "$1" "$text"; done; }

troubles='error|fail|denied|unauthorized|forbidden|timeout|timed out|rejected|no such host|unable|invalid|not found|exec format'

boot_log() {
  width=360
  have gzip && have base64 || width=160
  [ -r /run/cloud-init/result.json ] && tr '\n' ' ' </run/cloud-init/result.json | log 'cloud-init result' 1
  [ -r /var/log/cloud-init-output.log ] && tail -n 200 /var/log/cloud-init-output.log | log cloud-init-output.log 15
  journal=
  have journalctl && journal=$(limited 10 journalctl -b -u kubelet -u nodeadm-config -u nodeadm-run --no-pager -o cat -n 300 | grep -Ei "$troubles")
  [ -n "$journal" ] || { [ -r /var/log/messages ] && journal=$(tail -n 500 /var/log/messages | grep -E 'kubelet|nodeadm|bootstrap' | grep -Ei "$troubles"); }
  printf '%s\n' "$journal" | grep . | log journal 12
}

# A kubelet that runs, but does not register: what the API server answers.
registration_log() {
  width=360
  have journalctl || return
  journal=$(limited 10 journalctl -b -u kubelet --no-pager -o cat -n 1000 |
    grep -E 'Successfully registered node|Unable to register node|[Uu]nauthorized' | tail -n 3)
  case $journal in
    *'Successfully registered'*) ;;
    ?*) printf '%s\n' "$journal" | log kubelet 3 ;;
  esac
}

gather() {
  if have apiclient; then
    put uname "$(uname -m)" "$(uname -r)"
    bottlerocket
    return
  fi
  system
  runc=$([ -z "$containerd" ] || containerd_settings "$containerd" |
    sed -n 's/^ *"\{0,1\}BinaryName"\{0,1\} *= *["'\'']\([^"'\'']*\)["'\''].*/\1/p' | grep runc | sed -n 1p)
  program kubelet "$kubelet" ''
  program containerd "$containerd" ''
  program runc '' "$runc"
  if [ -n "$kubelet" ]; then
    report_kubelet
    registration_log
  else
    boot_log
  fi
}
