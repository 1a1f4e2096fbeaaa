// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/node_files.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "runtime/view/node_hooks.hpp"

namespace athanor::lab {
namespace {

namespace fs = std::filesystem;

// Below the node's folder whatever the names say.
Result<fs::path> path_of(const std::string& folder, const Value& args) {
  const std::string node = args["node"].str();
  const fs::path path = fs::path(args["path"].str()).lexically_normal();
  const bool climbs = path.string().find("..") != std::string::npos;
  if (node.empty() || node.find('/') != std::string::npos || node.front() == '.' ||
      !path.is_absolute() || climbs) {
    return Error::bad_request(
        fmt::format("{} of node {} is no path of a node", path.string(), node));
  }
  return fs::path(folder) / node / path.relative_path();
}

Result<Value> write_file(const std::string& folder, const Value& args) {
  ATHANOR_TRY(const fs::path path, path_of(folder, args));
  std::error_code failure;
  fs::create_directories(path.parent_path(), failure);
  // The name that CDI writers use, which CDI readers leave alone.
  const fs::path beside = path.parent_path() / fmt::format("spec.{}.tmp", path.filename().string());
  {
    std::ofstream file(beside, std::ios::binary | std::ios::trunc);
    file << args["content"].as_string();
    file.close();
    if (!file) {
      return Error::unavailable(fmt::format("cannot write {}", beside.string()));
    }
  }
  fs::permissions(beside,
                  fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read |
                      fs::perms::others_read,
                  failure);
  fs::rename(beside, path, failure);
  if (failure) {
    return Error::unavailable(fmt::format("cannot write {}: {}", path.string(), failure.message()));
  }
  return Value::object();
}

Result<Value> remove_file(const std::string& folder, const Value& args) {
  ATHANOR_TRY(const fs::path path, path_of(folder, args));
  std::error_code failure;
  fs::remove(path, failure);
  if (failure) {
    return Error::unavailable(
        fmt::format("cannot remove {}: {}", path.string(), failure.message()));
  }
  return Value::object();
}

}  // namespace

Result<void> write_node_file(const std::string& folder, const std::string& node,
                             const std::string& path, const std::string& content) {
  const auto written =
      write_file(folder, Value::object({{"node", node}, {"path", path}, {"content", content}}));
  return written.ok() ? Result<void>() : written.error();
}

void add_node_files(runtime::Executors& executors, BackgroundQueue& background,
                    std::string folder) {
  const auto on = [&](std::string_view verb,
                      Result<Value> (*action)(const std::string&, const Value&)) {
    executors.on_act(std::string(verb),
                     [&background, folder, action](const std::string& /*id*/, const Value& args,
                                                   runtime::Executors::Completion done) {
                       background.add([folder, action, args, done = std::move(done)] {
                         done(action(folder, args));
                       });
                     });
  };
  on(kWriteNodeFile, write_file);
  on(kRemoveNodeFile, remove_file);
}

}  // namespace athanor::lab
