// SPDX-License-Identifier: Apache-2.0
// athanor labs: list, stop, delete, merge.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/clock.hpp"
#include "base/files/descriptor.hpp"
#include "base/files/text_file.hpp"
#include "cli/flags/environment.hpp"
#include "cli/lab/lab_records.hpp"
#include "cli/output/formats.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/verbs.hpp"
#include "kube/text/yaml.hpp"
#include "net/private_file.hpp"
#include "runtime/view/usage.hpp"
#include "views/table.hpp"

namespace athanor::cli {
namespace {

Result<int> list_labs(const LabsOptions& options) {
  const std::vector<LabRecord> labs = read_lab_records(lab_records_folder());
  const Terminal out(STDOUT_FILENO);
  if (options.output == Output::Name) {
    for (const LabRecord& lab : labs) {
      out.print(lab.name + "\n");
    }
    return 0;
  }
  if (options.output != Output::Table) {
    std::vector<Value> values;
    values.reserve(labs.size());
    for (const LabRecord& lab : labs) {
      values.push_back(lab.to_value());
    }
    ATHANOR_TRY(
        const std::string text,
        render_values(values, {.output = options.output, .pattern = {}}, Shape::List, false));
    out.print(text);
    return 0;
  }
  if (labs.empty()) {
    Terminal(STDERR_FILENO).print("No labs. Light one: athanor up\n");
    return 0;
  }
  views::Table table(lab_header());
  for (const LabRecord& lab : labs) {
    table.add(lab_row(lab, wall_clock()->now()));
  }
  out.print(table.text(out.columns()));
  return 0;
}

// Ends a lab as Ctrl-C does and waits for the end of its process.
Result<void> stop_lab(const LabRecord& lab, int timeout) {
  const Terminal out(STDOUT_FILENO);
  if (lab.pid == 0) {
    out.print(fmt::format("lab {} does not run\n", lab.name));
    return {};
  }
  // The handle stands for this process even if its number is given to another one; it becomes
  // readable when the process has ended, which is later than the release of its lock.
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, lab.pid, 0)));
  if (process.get() >= 0 && holder_of(lab.data) == lab.pid) {
    if (::syscall(SYS_pidfd_send_signal, process.get(), SIGTERM, nullptr, 0) != 0) {
      return Error::internal(fmt::format("lab {}: process {} cannot be stopped: {}", lab.name,
                                         lab.pid, std::system_category().message(errno)));
    }
    pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
    const Instant end = wall_clock()->now() + std::chrono::seconds(timeout);
    while ((ended.revents & POLLIN) == 0) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(end - wall_clock()->now());
      if (left.count() <= 0) {
        return Error{.code = 504,
                     .reason = "Timeout",
                     .message = fmt::format("lab {}: process {} still runs after {} s", lab.name,
                                            lab.pid, timeout)};
      }
      ::poll(&ended, 1, static_cast<int>(left.count()));
    }
  }
  out.print(
      fmt::format("lab {} stopped; start it again: athanor up --data {}\n", lab.name, lab.data));
  return {};
}

Result<void> delete_lab(const LabRecord& lab, const LabActOptions& options) {
  if (lab.pid != 0 && !options.force) {
    return wrong_usage(fmt::format("lab {} runs as process {}; stop it first, or give --force",
                                   lab.name, lab.pid));
  }
  if (lab.pid != 0) {
    ATHANOR_TRY_VOID(stop_lab(lab, options.timeout));
  }
  // Nothing but what a lab has made is removed.
  std::error_code failed;
  if (!std::filesystem::exists(lab.data + "/lock", failed)) {
    return Error::conflict(fmt::format("{} is no lab's folder: it has no lock file", lab.data));
  }
  std::filesystem::remove_all(lab.data, failed);
  if (failed) {
    return Error::internal(fmt::format("{}: {}", lab.data, failed.message()));
  }
  forget_lab(lab_records_folder(), lab.data);
  Terminal(STDOUT_FILENO).print(fmt::format("lab {} deleted\n", lab.name));
  return {};
}

// The first file of $KUBECONFIG, else ~/.kube/config.
std::string usual_kubeconfig() {
  const auto environment = environment_map();
  std::string files = variable(environment, "KUBECONFIG");
  files = files.substr(0, files.find(':'));
  return files.empty() ? variable(environment, "HOME") + "/.kube/config" : files;
}

Result<int> merge_labs(const std::vector<LabRecord>& labs, const std::string& into) {
  const std::string path = into.empty() ? usual_kubeconfig() : into;
  Value config;
  std::error_code failed;
  if (std::filesystem::exists(path, failed)) {
    ATHANOR_TRY(const std::string text, read_text_file(path));
    auto parsed = yaml::parse(text);
    if (!parsed.ok() || (!parsed->is_object() && !parsed->is_null())) {
      return Error::bad_request(fmt::format("{}: not a kubeconfig; it stays as it is", path));
    }
    config = *std::move(parsed);
  }
  const Terminal out(STDOUT_FILENO);
  std::string said;
  for (const LabRecord& lab : labs) {
    ATHANOR_TRY(const std::string text, read_text_file(lab.kubeconfig));
    auto own = yaml::parse(text);
    if (!own.ok()) {
      return own.error().with_context(lab.kubeconfig);
    }
    const std::string name = "athanor-" + lab.name;
    ATHANOR_TRY(config, merge_context(std::move(config), *own, name));
    said += fmt::format("context {} is in {}\n", name, path);
  }
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  ATHANOR_TRY_VOID(net::write_private_file(path, yaml::print(config)));
  out.print(said);
  return 0;
}

Result<int> act_on_labs(const LabActOptions& options) {
  const std::vector<LabRecord> known = read_lab_records(lab_records_folder());
  std::vector<LabRecord> labs;
  if (options.all || (options.verb == LabVerb::Merge && options.names.empty())) {
    std::ranges::copy_if(known, std::back_inserter(labs), [&](const LabRecord& lab) {
      return options.verb == LabVerb::Delete || lab.pid != 0;
    });
  } else if (options.names.empty()) {
    return wrong_usage("say which lab: its name (athanor labs lists them), or --all");
  } else {
    ATHANOR_TRY(labs, choose_labs(known, options.names));
  }
  if (options.verb == LabVerb::Merge) {
    return labs.empty() ? Result<int>(Error::not_found("no lab runs"))
                        : merge_labs(labs, options.into);
  }
  int code = 0;
  for (const LabRecord& lab : labs) {
    const auto done =
        options.verb == LabVerb::Stop ? stop_lab(lab, options.timeout) : delete_lab(lab, options);
    if (!done.ok()) {
      code = fail(done.error());
    }
  }
  return code;
}

}  // namespace

int run(const LabsOptions& options) {
  const auto code = list_labs(options);
  return code.ok() ? *code : fail(code.error());
}

int run(const LabActOptions& options) {
  const auto code = act_on_labs(options);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
