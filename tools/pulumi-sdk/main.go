// Writes the SDK of a Pulumi package for one language: pulumi-sdk LANGUAGE SCHEMA FOLDER. `pulumi package gen-sdk` does
// the same with the same generators, but needs a language host for them, and the newer hosts are in no registry.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/blang/semver"
	golang "github.com/pulumi/pulumi/pkg/v3/codegen/go"
	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

// alone does not load other packages: the schema refers to none.
type alone struct{}

func (alone) LoadPackage(name string, _ *semver.Version) (*schema.Package, error) {
	return nil, fmt.Errorf("the schema refers to the package %s", name)
}

func (alone) LoadPackageV2(_ context.Context, wanted *schema.PackageDescriptor) (*schema.Package, error) {
	return nil, fmt.Errorf("the schema refers to the package %s", wanted.Name)
}

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(language, file, folder string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var spec schema.PackageSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return err
	}
	pkg, problems, err := schema.BindSpec(spec, alone{}, schema.ValidationOptions{})
	if err != nil {
		return err
	}
	if problems.HasErrors() {
		return problems
	}
	files, err := generate(language, pkg)
	if err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func generate(language string, pkg *schema.Package) (map[string][]byte, error) {
	switch language {
	case "go":
		return golang.GeneratePackage("pulumi-sdk", pkg, nil)
	case "nodejs":
		return nodejs.GeneratePackage("pulumi-sdk", pkg, nil, nil, false, nil)
	}
	return nil, fmt.Errorf("no generator for %s", language)
}
