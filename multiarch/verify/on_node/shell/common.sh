# What a node says about itself: read-only, without temporary files, in a bounded time. For dash, busybox ash and bash.
#
# script.py puts a line before these files that sets: ids, the first digits of the containers to report.
# No here-documents: bash keeps them in temporary files.

export LC_ALL=C
export PATH="$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin"
exec 2>/dev/null
set -f

nl='
'
tab=$(printf '\t')
started=$(date +%s)

have() { command -v "$1" >/dev/null; }

# limited SECONDS PROGRAM...: run it, but not longer
if have timeout; then
  limited() { timeout -s KILL "$@" </dev/null; }
else
  limited() { shift; "$@" </dev/null; }
fi

seconds_left() { [ $(($(date +%s) - started)) -lt "$1" ]; }

# put FIELD...: a line of the report
put() {
  line=
  for field; do
    case $field in *[[:cntrl:]]*) field=$(printf %s "$field" | tr '[:cntrl:]' ' ') ;; esac
    line=$line$field$tab
  done
  printf '%s\n' "${line%"$tab"}"
}

first_line() { sed -n 1p | cut -c 1-300; }

# The first 20 bytes of a file in hexadecimal: as much of an ELF header as has the machine.
header() { od -An -v -tx1 -N20 "$1" | tr -d ' \n'; }

arguments() { tr '\0\n' '\n ' <"/proc/$1/cmdline"; }

# The program among the arguments of an emulator.
emulated() {
  read -r name
  while IFS= read -r argument; do
    case $argument in
      -0 | -B | -D | -E | -L | -R | -U | -cpu | -d | -dfilter | -g | -p | -plugin | -r | -s | -seed | -t) read -r name ;;
      -*) ;;
      *) printf %s "$argument"; return ;;
    esac
  done
}

# resolved ROOT PATH: the path below ROOT without symbolic links, of which absolute ones begin at ROOT too
resolved() {
  rest=/$2 found='' steps=0
  while [ -n "$rest" ] && [ "$steps" -lt 100 ]; do
    steps=$((steps + 1)) rest=${rest#/}
    part=${rest%%/*}
    rest=${rest#"$part"}
    case $part in
      '' | .) continue ;;
      ..) found=${found%/*}; continue ;;
    esac
    if [ -L "$1$found/$part" ]; then
      target=$(readlink "$1$found/$part")
      case $target in /*) found= ;; esac
      rest=/$target$rest
    else
      found=$found/$part
    fi
  done
  printf %s "$found"
}

# running PID: sets executable, hex, emulator and fault for what the process runs
running() {
  hex='' emulator='' fault=''
  executable=$(readlink "/proc/$1/exe") || { fault="can't read /proc/$1/exe"; return; }
  case $executable in *' (deleted)') executable=${executable% (deleted)} fault='the running file was replaced or deleted' ;; esac
  file=/proc/$1/exe
  case ${executable##*/} in
    qemu-system-* | qemu-img | qemu-nbd | qemu-ga | qemu-io | qemu-kvm | qemu-storage-daemon | qemu-pr-helper) ;;
    qemu-* | box64* | box86* | FEX* | rosetta*)
      emulator=${executable##*/}
      executable=$(arguments "$1" | emulated)
      case $executable in
        '') fault="can't tell what $emulator runs"; return ;;
        /*) ;;
        *) executable=$(readlink "/proc/$1/cwd")/$executable ;;
      esac
      executable=$(resolved "/proc/$1/root" "$executable")
      file=/proc/$1/root$executable
      ;;
  esac
  hex=$(header "$file")
  [ -n "$hex" ] || fault=${fault:-"can't read $executable"}
}

# Processes of the node itself: those of containers have another root directory.
find_processes() {
  kubelets='' containerds='' other=''
  set +f
  for process in /proc/[0-9]*; do
    read -r name <"$process/comm" || continue
    case $name in kubelet | containerd | dockerd | crio) ;; *) continue ;; esac
    [ "$process/root/." -ef /. ] || continue
    case $name in
      kubelet) kubelets="$kubelets ${process#/proc/}" ;;
      containerd) containerds="$containerds ${process#/proc/}" ;;
      *) other=$name ;;
    esac
  done
  set -f
}

# A machine has one kubelet. Where several share one, it is that of this host name.
find_kubelet() {
  kubelet=''
  for process in $kubelets; do
    kubelet=${kubelet:-$process}
    case $nl$(arguments "$process")$nl in *"$nl--hostname-override=$(uname -n)$nl"*) kubelet=$process ;; esac
  done
}

# The kubelet's arguments that say how it registers, each as --name=value.
kubelet_flags() {
  while IFS= read -r argument; do
    case $argument in
      --register[-_]with[-_]taints=* | --node[-_]labels=* | --config=* | --config[-_]dir=* | --register[-_]node=* | \
        --container[-_]runtime[-_]endpoint=*) printf '%s\n' "$argument" ;;
      --register[-_]with[-_]taints | --node[-_]labels | --config | --config[-_]dir | --container[-_]runtime[-_]endpoint)
        IFS= read -r value
        printf '%s\n' "$argument=$value"
        ;;
    esac
  done
}

# The value of a flag of the kubelet, the last if it is repeated.
flag() { printf '%s\n' "$flags" | sed -n "s/^--$1=//p" | sed -n '$p'; }

# Of a configuration file of the kubelet only what says how it registers: other settings may hold secrets.
kubelet_settings() {
  text=$(grep -v '^[[:space:]]*#' "$1") || { put unread "$1" "the kubelet's configuration"; return; }
  case $(printf %s "$text" | tr -d '[:space:]' | cut -c 1) in
    '{')
      text=$(printf %s "$text" | tr '[:cntrl:]' ' ')
      taints=$(printf '%s\n' "$text" | sed -n -e 's/"registerWithTaints" *: *null/"registerWithTaints":[]/' \
        -e 's/.*"registerWithTaints" *: *\(\[[^]]*\]\).*/\1/p')
      endpoint=$(printf '%s\n' "$text" | sed -n 's/.*"containerRuntimeEndpoint" *: *"\([^"]*\)".*/\1/p')
      registers=$(printf '%s\n' "$text" | sed -n 's/.*"registerNode" *: *\([a-z]*\).*/\1/p')
      ;;
    *)
      taints=$(printf '%s\n' "$text" |
        sed -n '/^registerWithTaints *:/,/^[^][:space:]}-]/{/^registerWithTaints/p;/^[][:space:]}-]/p;}' |
        sed 's/$/\\n/' | tr -d '\n')
      endpoint=$(printf '%s\n' "$text" | sed -n -e 's/ #.*//' -e 's/^containerRuntimeEndpoint *: *//p' | tr -d "\"' ")
      registers=$(printf '%s\n' "$text" | sed -n 's/^registerNode *: *\([a-z]*\).*/\1/p')
      ;;
  esac
  case $text in *registerWithTaints*) [ -n "$taints" ] || put unread "$1" registerWithTaints ;; esac
  put config "$1" "$taints" "$endpoint" "$registers"
}

# The kubelet's configuration file and its drop-ins, in the order in which it reads them.
kubelet_files() {
  file=$(flag config)
  [ -z "$file" ] || kubelet_settings "$file"
  folder=$(flag 'config[-_]dir')
  [ -z "$folder" ] || find "$folder" -name '*.conf' | sort | while IFS= read -r file; do kubelet_settings "$file"; done
}

# Whether a process has the socket open: by the number that the kernel gives it.
listens() {
  number=$(sed -n "s#^[^ ]* [^ ]* [^ ]* 00010000 [^ ]* [^ ]* *\([0-9]*\) $2\$#\1#p" /proc/net/unix | sed -n 1p)
  [ -n "$number" ] || return
  set +f
  for link in /proc/"$1"/fd/*; do [ "$(readlink "$link")" = "socket:[$number]" ] && { set -f; return; }; done
  set -f
  false
}

# The containerd that the kubelet uses; without a kubelet, any.
find_containerd() {
  containerd=''
  endpoint=$(flag 'container[-_]runtime[-_]endpoint')
  [ -n "$endpoint" ] || endpoint=$(printf '%s\n' "$files" | cut -f 4 | grep . | sed -n '$p')
  socket=${endpoint#unix://}
  socket=${socket:-/run/containerd/containerd.sock}
  for process in $containerds; do
    containerd=${containerd:-$process}
    [ "$containerds" = " $process" ] || { listens "$process" "$socket" && containerd=$process; }
  done
}

# What both reports begin with. Sets kubelet and containerd to their processes, and what their options say.
system() {
  put uname "$(uname -m)" "$(uname -r)"
  put os "$(sed -n 's/^PRETTY_NAME=//p' /etc/os-release | tr -d "\"'" | first_line)"
  find_processes
  find_kubelet
  flags=$([ -z "$kubelet" ] || arguments "$kubelet" | kubelet_flags)
  files=$([ -z "$kubelet" ] || kubelet_files)
  find_containerd
  containerd_file=
  if [ -n "$containerd" ]; then running "$containerd"; containerd_file=$executable; fi
  [ -n "$containerd_file" ] || containerd_file=$(command -v containerd)
}
