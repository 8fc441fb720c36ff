// containerd, for a machine whose emulator of user programs (qemu-user) hides seccomp.
//
// qemu-user answers every prctl about seccomp with EINVAL, so containerd takes the kernel for one without seccomp and
// rejects each pod: kubelet uses the profile RuntimeDefault. Containers are started by the machine's own runc, which
// is not emulated. This program is containerd with that one answer replaced; sandbox/cluster/without_seccomp.py takes the
// profile, which is made for another processor, out again.
package main

import (
	"context"
	"fmt"
	"os"
	_ "unsafe" // for go:linkname

	_ "github.com/containerd/containerd/v2/cmd/containerd/builtins"
	"github.com/containerd/containerd/v2/cmd/containerd/command"
	"github.com/containerd/containerd/v2/pkg/seccomp"
)

//go:linkname enabled github.com/containerd/containerd/v2/pkg/seccomp.enabled
var enabled bool

func main() {
	seccomp.IsEnabled() // queries once
	enabled = true
	if err := command.App().Run(context.Background(), os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "containerd:", err)
		os.Exit(1)
	}
}
