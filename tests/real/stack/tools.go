// SPDX-License-Identifier: Apache-2.0
//go:build tools

// Package stack pins the real Kueue, Tekton and AppWrapper manager that tests/real/test_stack.py builds and runs.
package stack

import (
	_ "github.com/project-codeflare/appwrapper/cmd"
	_ "github.com/tektoncd/pipeline/cmd/controller"
	_ "github.com/tektoncd/pipeline/cmd/webhook"
	_ "sigs.k8s.io/kueue/cmd/kueue"
)
