// SPDX-License-Identifier: Apache-2.0
#include "cli/lab/lab_records.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "base/digest.hpp"
#include "base/files/folder.hpp"
#include "base/files/text_file.hpp"
#include "base/near_name.hpp"
#include "cli/flags/environment.hpp"
#include "kube/text/json.hpp"
#include "net/private_file.hpp"
#include "runtime/view/usage.hpp"

namespace athanor::cli {
namespace {

// One file for each data folder; the name tells them apart, the content says which.
std::string record_file(const std::string& folder, const std::string& data) {
  return fmt::format("{}/{}.json", folder, base64url_encode(data).substr(0, 200));
}

std::string absolute_path(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path, failed);
  return failed ? path : whole.string();
}

// The first entry of a list that has this name.
const Value& named_entry(const Value& list, std::string_view name) {
  static const Value kNone;
  for (const Value& entry : list.items()) {
    if (entry["name"].as_string() == name) {
      return entry;
    }
  }
  return kNone;
}

void put_entry(Value& config, std::string_view list, Value entry) {
  Value& entries = config.member(list);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i]["name"] == entry["name"]) {
      entries.item(i) = std::move(entry);
      return;
    }
  }
  entries.push_back(std::move(entry));
}

}  // namespace

Value LabRecord::to_value() const {
  Value value = Value::object({{"name", name},
                               {"data", data},
                               {"kubeconfig", kubeconfig},
                               {"address", address},
                               {"lab", lab},
                               {"started", started},
                               {"running", pid != 0}});
  if (pid != 0) {
    value.set("pid", pid);
  }
  return value;
}

std::string lab_records_folder() {
  const auto environment = environment_map();
  if (std::string own = variable(environment, "ATHANOR_LABS"); !own.empty()) {
    return own;
  }
  const std::string state = variable(environment, "XDG_STATE_HOME");
  return (state.empty() ? variable(environment, "HOME") + "/.local/state" : state) +
         "/athanor-labs";
}

Result<void> record_lab(const std::string& folder, const LabRecord& record) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  LabRecord whole = record;
  whole.data = absolute_path(record.data);
  whole.kubeconfig = absolute_path(record.kubeconfig);
  return net::write_private_file(record_file(folder, whole.data), json::print(whole.to_value()));
}

long holder_of(const std::string& data) {
  const std::string lock = data + "/lock";
  const int file = ::open(lock.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return 0;
  }
  const bool held = ::flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(file);
  if (!held) {
    return 0;
  }
  const auto text = read_text_file(lock);
  long pid = 0;
  if (text.ok()) {
    std::from_chars(text->data(), text->data() + text->size(), pid);
  }
  return pid;
}

std::vector<LabRecord> read_lab_records(const std::string& folder) {
  std::vector<LabRecord> labs;
  for (const std::string& name : names_in_folder(folder)) {
    const auto text = read_text_file(fmt::format("{}/{}", folder, name));
    const auto value = text.ok() ? json::parse(*text) : Result<Value>(text.error());
    std::error_code failed;
    if (!value.ok() || !std::filesystem::is_directory((*value)["data"].str(), failed)) {
      continue;
    }
    LabRecord lab{.data = (*value)["data"].str(),
                  .kubeconfig = (*value)["kubeconfig"].str(),
                  .address = (*value)["address"].str(),
                  .lab = (*value)["lab"].str(),
                  .started = (*value)["started"].str()};
    lab.name = std::filesystem::path(lab.data).filename().string();
    lab.pid = holder_of(lab.data);
    labs.push_back(std::move(lab));
  }
  std::ranges::sort(labs, {}, [](const LabRecord& lab) { return std::pair(lab.name, lab.data); });
  std::map<std::string, int> seen;
  for (LabRecord& lab : labs) {
    if (const int number = ++seen[lab.name]; number > 1) {
      lab.name += fmt::format("-{}", number);
    }
  }
  return labs;
}

std::vector<std::string> lab_header() {
  return {"NAME", "STATE", "PID", "ADDRESS", "STARTED", "LAB", "DATA"};
}

std::vector<std::string> lab_row(const LabRecord& lab, Instant now) {
  const bool runs = lab.pid != 0;
  const auto started = parse_time(lab.started);
  return {lab.name,
          runs ? "running" : "stopped",
          runs ? fmt::format("{}", lab.pid) : "-",
          runs ? lab.address : "-",
          started ? format_age(now - *started) + " ago" : "-",
          lab.lab.empty() ? "built-in" : lab.lab,
          lab.data};
}

void forget_lab(const std::string& folder, const std::string& data) {
  std::error_code failed;
  std::filesystem::remove(record_file(folder, data), failed);
}

Result<std::vector<LabRecord>> choose_labs(const std::vector<LabRecord>& known,
                                           const std::vector<std::string>& names) {
  std::vector<LabRecord> chosen;
  std::vector<std::string> all;
  all.reserve(known.size());
  for (const LabRecord& lab : known) {
    all.push_back(lab.name);
  }
  for (const std::string& name : names) {
    const std::string path = absolute_path(name);
    const auto found = std::ranges::find_if(
        known, [&](const LabRecord& lab) { return lab.name == name || lab.data == path; });
    if (found == known.end()) {
      return wrong_usage(fmt::format("there is no lab \"{}\"{}; athanor labs lists them", name,
                                     near_hint(name, all)));
    }
    chosen.push_back(*found);
  }
  return chosen;
}

Result<Value> merge_context(Value into, const Value& from, const std::string& name) {
  const Value& context = named_entry(from["contexts"], from["current-context"].as_string());
  const Value& cluster = named_entry(from["clusters"], context["context"]["cluster"].as_string());
  const Value& user = named_entry(from["users"], context["context"]["user"].as_string());
  if (!context.is_object() || !cluster.is_object()) {
    return Error::bad_request("the lab's kubeconfig has no current context");
  }
  if (!into.is_object()) {
    into = Value::object({{"apiVersion", "v1"}, {"kind", "Config"}});
  }
  Value own_context = context;
  own_context.set("name", name);
  own_context.set_path({"context", "cluster"}, name);
  own_context.set_path({"context", "user"}, name);
  Value own_cluster = cluster;
  own_cluster.set("name", name);
  Value own_user = user.is_object() ? user : Value::object({{"user", Value::object()}});
  own_user.set("name", name);
  put_entry(into, "clusters", std::move(own_cluster));
  put_entry(into, "contexts", std::move(own_context));
  put_entry(into, "users", std::move(own_user));
  if (into["current-context"].as_string().empty()) {
    into.set("current-context", name);
  }
  return into;
}

}  // namespace athanor::cli
