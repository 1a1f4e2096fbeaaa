// SPDX-License-Identifier: Apache-2.0

// tkn as its Go module has it, with the commands for what a lab serves: the module of `tkn hub` is not needed.
package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/tektoncd/cli/pkg/cli"
	"github.com/tektoncd/cli/pkg/cmd/customrun"
	"github.com/tektoncd/cli/pkg/cmd/pipeline"
	"github.com/tektoncd/cli/pkg/cmd/pipelinerun"
	"github.com/tektoncd/cli/pkg/cmd/task"
	"github.com/tektoncd/cli/pkg/cmd/taskrun"
	"github.com/tektoncd/cli/pkg/cmd/version"
)

func main() {
	params := &cli.TektonParams{}
	root := &cobra.Command{Use: "tkn", SilenceUsage: true}
	root.AddCommand(customrun.Command(params), pipeline.Command(params), pipelinerun.Command(params),
		task.Command(params), taskrun.Command(params), version.Command(params))
	if root.Execute() != nil {
		os.Exit(1)
	}
}
