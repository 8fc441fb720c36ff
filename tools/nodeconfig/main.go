// Command nodeconfig reads one NodeConfig document (YAML or JSON) on standard input and decodes it
// strictly with nodeadm's own API types: `nodeadm config check` lets unknown fields pass.
//
// It prints the document as indented JSON and exits 0, or prints the reason to standard error and
// exits 1. Wrong usage exits 2.
//
// With --partial the cluster part may be absent: in a managed node group without a custom AMI, EKS
// adds it. A part that is there must be complete either way.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/awslabs/amazon-eks-ami/nodeadm/api"
	"github.com/awslabs/amazon-eks-ami/nodeadm/api/v1alpha1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kubelet "k8s.io/kubelet/config/v1beta1"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

func main() {
	partial := flag.Bool("partial", false, "the cluster part may be absent, because EKS adds it (managed groups)")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "nodeconfig: reads standard input, takes no argument: %q\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := run(os.Stdin, os.Stdout, *partial); err != nil {
		fmt.Fprintf(os.Stderr, "nodeconfig: %v\n", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, partial bool) error {
	document, err := onlyDocument(in)
	if err != nil {
		return err
	}
	config, err := decode(document)
	if err != nil {
		return err
	}
	if err := check(config, partial); err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(config)
}

// onlyDocument rejects a stream of several documents: the YAML library would read the first and be silent about the rest.
func onlyDocument(in io.Reader) ([]byte, error) {
	var documents [][]byte
	reader := utilyaml.NewYAMLReader(bufio.NewReader(in))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(document)) > 0 {
			documents = append(documents, document)
		}
	}
	if len(documents) != 1 {
		return nil, fmt.Errorf("expected one NodeConfig document, found %d", len(documents))
	}
	return documents[0], nil
}

// decode rejects unknown fields, fields in the wrong case and repeated keys.
func decode(document []byte) (*v1alpha1.NodeConfig, error) {
	content, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, err
	}
	config := &v1alpha1.NodeConfig{}
	if err := strict(content, config); err != nil {
		return nil, err
	}
	if want := v1alpha1.GroupVersion.String(); config.APIVersion != want {
		return nil, fmt.Errorf("apiVersion is %q, not %q", config.APIVersion, want)
	}
	if config.Kind != api.KindNodeConfig {
		return nil, fmt.Errorf("kind is %q, not %q", config.Kind, api.KindNodeConfig)
	}
	return config, nil
}

func strict(content []byte, into any) error {
	faults, err := strictjson.UnmarshalStrict(content, into)
	if err != nil {
		return err
	}
	return errors.Join(faults...)
}

func check(config *v1alpha1.NodeConfig, partial bool) error {
	var faults []error
	cluster := config.Spec.Cluster
	absent := cluster.Name == "" && cluster.APIServerEndpoint == "" && len(cluster.CertificateAuthority) == 0 && cluster.CIDR == ""
	if !partial || !absent {
		faults = append(faults, checkCluster(cluster)...)
	}
	switch strategy := config.Spec.Instance.LocalStorage.Strategy; strategy {
	case "", v1alpha1.LocalStorageRAID0, v1alpha1.LocalStorageMount:
	default:
		faults = append(faults, fmt.Errorf("spec.instance.localStorage.strategy is %q, not RAID0 or Mount", strategy))
	}
	for i, argument := range config.Spec.Kubelet.Flags {
		if !strings.HasPrefix(argument, "--") {
			faults = append(faults, fmt.Errorf("spec.kubelet.flags[%d] is %q: a flag starts with --", i, argument))
		}
	}
	return errors.Join(append(faults, checkKubelet(config.Spec.Kubelet))...)
}

func checkCluster(cluster v1alpha1.ClusterDetails) []error {
	var faults []error
	if cluster.Name == "" {
		faults = append(faults, errors.New("spec.cluster.name is missing"))
	}
	if endpoint, err := url.Parse(cluster.APIServerEndpoint); cluster.APIServerEndpoint == "" {
		faults = append(faults, errors.New("spec.cluster.apiServerEndpoint is missing"))
	} else if err != nil || endpoint.Host == "" || (endpoint.Scheme != "https" && endpoint.Scheme != "http") {
		faults = append(faults, fmt.Errorf("spec.cluster.apiServerEndpoint is %q, not a URL", cluster.APIServerEndpoint))
	}
	if len(cluster.CertificateAuthority) == 0 {
		faults = append(faults, errors.New("spec.cluster.certificateAuthority is missing"))
	}
	if cluster.CIDR == "" {
		faults = append(faults, errors.New("spec.cluster.cidr is missing"))
	} else if _, _, err := net.ParseCIDR(cluster.CIDR); err != nil {
		faults = append(faults, fmt.Errorf("spec.cluster.cidr: %w", err))
	}
	return faults
}

// checkKubelet decodes the free-form kubelet settings with the kubelet's own type: nodeadm hands them on unread.
func checkKubelet(options v1alpha1.KubeletOptions) error {
	if len(options.Config) == 0 {
		return nil
	}
	content, err := json.Marshal(options.Config)
	if err != nil {
		return err
	}
	if err := strict(content, &kubelet.KubeletConfiguration{}); err != nil {
		return fmt.Errorf("spec.kubelet.config: %w", err)
	}
	return nil
}
