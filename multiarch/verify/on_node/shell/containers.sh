# The report about the running containers of the CRI, as containerd and the kernel know them.

# A line "IMAGE ID PID" for each running container of the CRI, sorted.
list_containers() {
  { printf '%s\n' "$1" | sed -n 's/^\([0-9a-f]\{64\}\)[[:space:]]\{1,\}\([^[:space:]]*\).*/\1 1 \2/p'
    printf '%s\n' "$2" | sed -n -e 's/^\([0-9a-f]\{64\}\)[[:space:]]\{1,\}\([0-9]*\)[[:space:]]\{1,\}RUNNING.*/\1 0 \2/p' \
      -e 's/^\([0-9a-f]\{64\}\)[[:space:]]\{1,\}\([0-9]*\)[[:space:]]\{1,\}PAUSED.*/\1 0 \2/p'
  } | sort | {
    last='' pid=''
    while read -r id kind value; do
      if [ "$kind" = 0 ]; then
        last=$id pid=$value
      elif [ "$id" = "$last" ]; then
        case $id in [$ids]*) printf '%s %s %s\n' "$value" "$id" "$pid" ;; esac
      fi
    done
  } | sort
}

report_container() {
  config=$(limited 5 "$ctr" -a "$socket" -n k8s.io containers info "$2" |
    sed -n '/"io.cri-containerd.container.metadata"/,/}/s#.*"value": *"\([A-Za-z0-9+/=]*\)".*#\1#p' | base64 -d |
    sed -n 's/.*[{,]"ImageRef":"\(sha256:[0-9a-f]*\)".*/\1/p')
  if [ "$config" != "$last_config" ]; then
    last_config=$config
    manifests=$([ -z "$config" ] || printf '%s\n' "$contents" | sed -n "s/^$config //p" | tr '\n' ,)
  fi
  running "$3"
  put container "$2" "$1" "$config" "${manifests%,}" "$3" "$executable" "$hex" "$emulator" "$fault"
}

report_containers() {
  case $endpoint in
    '' | *containerd*) ;;
    *) put fault "the kubelet uses $endpoint: containers can be read from containerd only"; return ;;
  esac
  if [ -z "$containerd" ]; then
    put fault "no containerd runs${other:+, but $other}: containers can be read from containerd only"
    return
  fi
  ctr=$(command -v ctr) || ctr=${containerd_file%/*}/ctr
  [ -x "$ctr" ] || { put fault "ctr is not installed: it reads the containers from containerd"; return; }
  cri=$(limited 20 "$ctr" -a "$socket" -n k8s.io containers ls 'labels."io.cri-containerd.kind"==container' 2>&1) &&
    tasks=$(limited 20 "$ctr" -a "$socket" -n k8s.io tasks ls 2>&1) || {
    put fault "ctr can't read containerd's containers: $(printf '%s\n' "${tasks:-$cri}" | sed -n '$p' | first_line)"
    return
  }
  [ -z "$other" ] || [ -n "$(printf '%s\n' "$cri" | sed 1d)" ] || put fault "containerd has no containers, but $other runs"
  contents=$(limited 20 "$ctr" -a "$socket" -n k8s.io content ls |
    sed -n 's/^\(sha256:[0-9a-f]*\).*containerd\.io\/gc\.ref\.content\.config=\(sha256:[0-9a-f]*\).*/\2 \1/p')
  last_config=- manifests=''
  list_containers "$cri" "$tasks" | while read -r image id pid; do
    seconds_left 35 || { put more; break; }
    report_container "$image" "$id" "$pid"
  done
}

gather() {
  if have apiclient; then
    put uname "$(uname -m)" "$(uname -r)"
    put fault "Bottlerocket's control container can't see the node's containers"
    return
  fi
  system
  report_containers
}
