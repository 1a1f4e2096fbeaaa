// SPDX-License-Identifier: Apache-2.0
// athanor backup and athanor restore.
#include "embedded/store/backup.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include "cli/output/terminal.hpp"
#include "cli/session/verbs.hpp"

namespace athanor::cli {
namespace {

int report(const Result<void>& outcome, const std::string& done) {
  if (!outcome.ok()) {
    return fail(outcome.error());
  }
  Terminal(STDOUT_FILENO).print(done);
  return 0;
}

}  // namespace

int run(const BackupOptions& options) {
  const std::string data = options.data.empty() ? default_data() : options.data;
  return report(store::backup(data, options.file),
                fmt::format("{} is in {} (with its private keys: keep it to yourself)\n", data,
                            options.file));
}

int run(const RestoreOptions& options) {
  return report(store::restore(options.file, options.data),
                fmt::format("restored; athanor up --data {} goes on with it\n", options.data));
}

}  // namespace athanor::cli
