// SPDX-License-Identifier: Apache-2.0

// Checks an OLM bundle with the validators of operator-framework, as `operator-sdk bundle validate` does: go run . FOLDER
package main

import (
	"fmt"
	"os"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: olm FOLDER")
		os.Exit(2)
	}
	bundle, err := manifests.GetBundleFromDir(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	failed := false
	for _, result := range validation.DefaultBundleValidators.Validate(bundle.ObjectsToValidate()...) {
		for _, found := range result.Errors {
			failed = true
			fmt.Printf("error: %s: %s\n", result.Name, found.Detail)
		}
		for _, found := range result.Warnings {
			fmt.Printf("warning: %s: %s\n", result.Name, found.Detail)
		}
	}
	if failed {
		os.Exit(1)
	}
}
