// SPDX-License-Identifier: Apache-2.0
// athanor vault sync: entries of a Vault or of a folder become Secrets.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "base/files/folder.hpp"
#include "base/files/text_file.hpp"
#include "cli/flags/environment.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/session.hpp"
#include "cli/session/verbs.hpp"
#include "client/vault.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "systems/fournos/vault/vault_sync.hpp"

namespace athanor::cli {
namespace {

namespace fs = std::filesystem;
using fournos::VaultEntry;

std::string text_of(const Value& value) {
  return value.is_string() ? value.str() : json::print(value);
}

void take_members(const Value& object, VaultEntry& entry) {
  for (const Member& member : object.members()) {
    entry.data.emplace(member.key(), text_of(member.value));
  }
}

Result<std::vector<VaultEntry>> from_vault(const VaultSyncOptions& options) {
  const auto environment = environment_map();
  const auto variable = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  client::VaultOptions wanted{.address = options.address,
                              .token = variable("VAULT_TOKEN"),
                              .ns = variable("VAULT_NAMESPACE"),
                              .mount = options.mount,
                              .path = options.path};
  if (wanted.token.empty()) {
    return Error::bad_request("VAULT_TOKEN environment variable is not set");
  }
  if (wanted.address.empty()) {
    return Error::bad_request(
        "no Vault: give --vault-addr (or VAULT_ADDR), or --from-files with a folder of entries");
  }
  if (const std::string file = variable("VAULT_CACERT"); !file.empty()) {
    ATHANOR_TRY(wanted.ca_pem, read_text_file(file));
  }
  client::Vault vault(std::move(wanted));
  auto names = vault.list();
  if (!names.ok()) {
    return names.error().with_context(
        fmt::format("cannot list {}/{} of {}", options.mount, options.path, options.address));
  }
  std::vector<VaultEntry> entries;
  for (const std::string& name : *names) {
    VaultEntry entry{.name = name};
    if (!name.ends_with('/')) {
      const auto data = vault.read(name);
      if (data.ok()) {
        take_members(*data, entry);
      } else {
        entry.problem = data.error().message;
      }
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

// DIR/ENTRY/KEY: every regular file is a key. Names that start with a dot are left alone.
void read_folder(const fs::path& folder, VaultEntry& entry) {
  const auto keys = list_folder(folder.string());
  if (!keys.ok()) {
    entry.problem = keys.error().message;
    return;
  }
  for (const std::string& key : *keys) {
    std::error_code unclear;
    const fs::path file = folder / key;
    if (key.starts_with('.') || !fs::is_regular_file(file, unclear)) {
      continue;
    }
    const auto text = read_text_file(file.string());
    if (!text.ok()) {
      entry.problem = text.error().message;
      return;
    }
    entry.data.emplace(key, *text);
  }
}

void read_map(const fs::path& file, VaultEntry& entry) {
  const auto text = read_text_file(file.string());
  const auto map = text.ok() ? yaml::parse(*text) : text.error();
  if (!map.ok()) {
    entry.problem = map.error().message;
  } else if (!map->is_object() && !map->is_null()) {
    entry.problem = fmt::format("{} is not a map of keys", file.string());
  } else {
    take_members(*map, entry);
  }
}

Result<std::vector<VaultEntry>> from_files(const std::string& folder) {
  ATHANOR_TRY(const std::vector<std::string> names, list_folder(folder));
  std::map<std::string, VaultEntry> entries;
  for (const std::string& name : names) {
    const fs::path path = fs::path(folder) / name;
    const std::string kind = path.extension().string();
    if (name.starts_with('.')) {
      continue;
    }
    std::error_code unclear;
    const bool is_folder = fs::is_directory(path, unclear);
    const bool is_map = kind == ".yaml" || kind == ".yml" || kind == ".json";
    if (!is_folder && !is_map) {
      return Error::bad_request(
          fmt::format("{} is neither a folder of keys nor a .yaml or .json file", path.string()));
    }
    VaultEntry entry{.name = is_folder ? path.filename().string() : path.stem().string()};
    if (is_folder) {
      read_folder(path, entry);
    } else {
      read_map(path, entry);
    }
    if (!entries.emplace(entry.name, entry).second) {
      return Error::bad_request(fmt::format("{}: entry {} is there twice", folder, entry.name));
    }
  }
  std::vector<VaultEntry> list;
  list.reserve(entries.size());
  for (auto& [name, entry] : entries) {
    list.push_back(std::move(entry));
  }
  return list;
}

class Sync {
 public:
  Sync(Session session, const VaultSyncOptions& options)
      : session_(std::move(session)), options_(options) {}

  Result<int> run(const std::vector<VaultEntry>& entries, const fournos::VaultPlace& place) {
    ATHANOR_TRY(const auto existing, session_.list(api::kSecret, options_.target.ns));
    const fournos::VaultPlan plan = fournos::plan_vault_sync(entries, existing, place);
    for (const std::string& problem : plan.errors) {
      complain(problem);
    }
    for (const std::string& note : plan.notes) {
      if (options_.target.verbosity > 0 || options_.dry_run) {
        out_.print(note + "\n");
      }
    }
    for (const Value& secret : plan.writes) {
      write(secret);
    }
    for (const std::string& name : plan.deletes) {
      remove(name);
    }
    out_.print(fmt::format("{}{} written, {} deleted, {} {}\n",
                           options_.dry_run ? "[dry-run] " : "", written_, deleted_, errors_,
                           errors_ == 1 ? "error" : "errors"));
    return errors_ == 0 ? 0 : 1;
  }

 private:
  void complain(const std::string& problem) {
    ++errors_;
    Terminal(STDERR_FILENO).print(fmt::format("athanor: {}\n", problem));
  }

  void write(const Value& secret) {
    const std::string name = secret["metadata"]["name"].str();
    if (options_.dry_run) {
      out_.print(
          fmt::format("[dry-run] Would create/update Secret {}/{}\n", options_.target.ns, name));
      for (const Member& key : secret["data"].members()) {
        const auto value = base64_decode(key.value.as_string());
        out_.print(fmt::format("[dry-run]   {}: {} bytes\n", key.key(),
                               value ? value->size() : std::size_t{0}));
      }
      ++written_;
      return;
    }
    const bool known = secret["metadata"].contains("resourceVersion");
    const auto answer = session_.connection().call(
        {.method = known ? "PUT" : "POST",
         .path = Session::path(api::kSecret, options_.target.ns, known ? name : std::string()),
         .body = secret});
    if (!answer.ok()) {
      complain(fmt::format("Secret {}/{}: {}", options_.target.ns, name, answer.error().message));
      return;
    }
    ++written_;
    out_.print(
        fmt::format("Secret {}/{} {}\n", options_.target.ns, name, known ? "updated" : "created"));
  }

  void remove(const std::string& name) {
    if (options_.dry_run) {
      ++deleted_;
      out_.print(fmt::format("[dry-run] Would delete Secret {}/{}\n", options_.target.ns, name));
      return;
    }
    const auto answer = session_.connection().call(
        {.method = "DELETE", .path = Session::path(api::kSecret, options_.target.ns, name)});
    if (!answer.ok() && answer.error().code != 404) {
      complain(fmt::format("Secret {}/{}: {}", options_.target.ns, name, answer.error().message));
      return;
    }
    ++deleted_;
    out_.print(fmt::format("Secret {}/{} deleted\n", options_.target.ns, name));
  }

  Session session_;
  const VaultSyncOptions& options_;
  Terminal out_{STDOUT_FILENO};
  int written_ = 0;
  int deleted_ = 0;
  int errors_ = 0;
};

}  // namespace

int run(const VaultSyncOptions& options) {
  const bool files = !options.files.empty();
  const auto entries = files ? from_files(options.files) : from_vault(options);
  if (!entries.ok()) {
    return fail(entries.error());
  }
  const bool any = std::ranges::any_of(
      *entries, [](const VaultEntry& entry) { return !entry.name.ends_with('/'); });
  if (!any) {
    Terminal(STDOUT_FILENO).print("no entries: nothing is changed\n");
    return 0;
  }
  auto session = Session::open(options.target);
  if (!session.ok()) {
    return fail(session.error());
  }
  fournos::VaultPlace place{.ns = options.target.ns};
  if (files) {
    place.address = "file";
    place.path = fs::path(options.files).lexically_normal().filename().string();
  } else {
    place.address = options.address;
    place.path =
        options.path.empty() ? options.mount : fmt::format("{}/{}", options.mount, options.path);
  }
  const auto environment = environment_map();
  if (const auto pattern = environment.find("FOURNOS_VAULT_SECRET_PATTERN");
      pattern != environment.end() && !pattern->second.empty()) {
    place.pattern = pattern->second;
  }
  const auto code = Sync(*std::move(session), options).run(*entries, place);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
