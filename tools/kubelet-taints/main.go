// Command kubelet-taints hands the given arguments to the kubelet's own command line, exactly as the
// kubelet does at its start, and prints the taints and labels the node would register with as JSON:
//
//	{"labels": {"KEY": "VALUE"}, "taints": [{"key": "", "value": "", "effect": ""}]}
//
// Arguments the kubelet would reject (an unknown flag, a taint effect it does not know, a label in a
// kubernetes.io namespace that it may not set) give exit code 1 and the reason on standard error.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
)

type taint struct {
	Key    string         `json:"key"`
	Value  string         `json:"value"`
	Effect v1.TaintEffect `json:"effect"`
}

type node struct {
	Labels map[string]string `json:"labels"`
	Taints []taint           `json:"taints"`
}

func main() {
	registered, err := parse(os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(registered)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "kubelet-taints: %v\n", err)
		os.Exit(1)
	}
}

func parse(arguments []string) (*node, error) {
	server, err := options.NewKubeletServer()
	if err != nil {
		return nil, err
	}
	flags := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	flags.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	flags.Usage = func() {}
	flags.SetOutput(io.Discard) // says only that most flags are deprecated in favour of a file
	server.AddFlags(flags)
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unknown command %q", flags.Arg(0))
	}
	if err := options.ValidateKubeletFlags(&server.KubeletFlags); err != nil {
		return nil, err
	}
	registered := &node{Labels: server.NodeLabels, Taints: []taint{}}
	for _, one := range server.RegisterWithTaints {
		registered.Taints = append(registered.Taints, taint{one.Key, one.Value, one.Effect})
	}
	return registered, nil
}
