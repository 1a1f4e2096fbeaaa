// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/console_flags.hpp"

#include "cli/flags/target_flags.hpp"
#include "flags/verb.hpp"

namespace athanor::cli {

void add_console(flags::Verb& app, ConsoleOptions& options) {
  auto& verb = *app.add_subcommand(
      "console", "Serve the web pages of jobs, queues, clusters, slices and zones");
  verb.footer(
      "Prints the address of the pages; runs until SIGINT or SIGTERM. A lab serves its own: "
      "athanor up.\n\n"
      "  athanor console --kubeconfig ~/lab/admin.kubeconfig\n"
      "  CONSOLE_AUTH=token athanor console --address 0.0.0.0:8000 --data ~/console\n\n"
      "The variables of docs/console.md set what has no flag.");
  add_file(verb, options.target);
  add_home(verb, options.target, {.variable = "FOURNOS_NAMESPACE", .otherwise = ""},
           "namespace of the jobs (default: that of the lab, else fournos-jobs)");
  add_identity(verb, options.target);
  verb.add_option("--address", options.address,
                  "HOST:PORT to listen at; port 0 picks a free one (default: $CONSOLE_ADDR, else "
                  "127.0.0.1:8000)");
  verb.add_option("--data", options.data,
                  "folder of the history and of archived logs (default: they end with the "
                  "program)");
  verb.add_option("--web", options.web,
                  "folder whose pages are served instead of the program's own")
      ->type_name("DIR");
  verb.add_flag("--read-only", options.read_only, "refuse every change");
}

}  // namespace athanor::cli
