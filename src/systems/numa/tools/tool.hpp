// SPDX-License-Identifier: Apache-2.0
// Tools of the NUMA stack (docs/spec/numa.md 13): programs of their own upstream, here `athanor
// numa NAME`, and under upstream's names by argv[0]. Each is a function over a narrow port, so that
// it needs neither sockets nor files.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::numa {

// Services for a tool. The command line implements them over HTTPS, tests over a map of objects.
class ToolContext {
 public:
  virtual ~ToolContext() = default;

  [[nodiscard]] virtual std::string version() const = 0;
  [[nodiscard]] virtual Instant now() const = 0;

  // Gets an object. Errors carry the API server's Status.
  virtual Result<Object> get(const Kind& kind, const Key& key) = 0;
  virtual Result<std::vector<Object>> list(const Kind& kind, const std::string& ns) = 0;
  // Sends a server-side apply.
  virtual Result<void> apply(const Kind& kind, const Value& object) = 0;
  virtual Result<void> remove(const Kind& kind, const Key& key) = 0;
  // Returns the body of a GET as text.
  virtual Result<std::string> text(const std::string& path) = 0;

  virtual Result<std::string> read_file(const std::string& path) = 0;
  // Names of the files in a folder; empty: it is not there.
  virtual std::vector<std::string> list_files(const std::string& path) = 0;
  virtual Result<void> write_file(const std::string& path, std::string_view content) = 0;
  virtual Result<std::string> read_input() = 0;

  // Waits. Returns false if interrupted meanwhile.
  virtual bool pause(Duration time) = 0;
  virtual void out(std::string_view text) = 0;
  virtual void err(std::string_view text) = 0;
};

// Exit codes of the tools.
inline constexpr int kToolDone = 0;
inline constexpr int kToolUsage = 1;
inline constexpr int kToolFailed = 2;

// One tool with its names.
struct Tool {
  std::string_view name{};      // "validate"
  std::string_view upstream{};  // "nrovalidate"; empty: none
  std::string_view summary{};
  // Returns the exit code.
  int (*run)(ToolContext& context, std::span<const std::string> arguments) = nullptr;
};

// Returns all tools.
std::span<const Tool> numa_tools();
// Finds a tool by either name; nullptr: none.
const Tool* find_tool(std::string_view name);

// Runs one tool, as do all below, each in its file (docs/spec/numa.md 13); returns its exit code.
int run_validate(ToolContext& context, std::span<const std::string> arguments);
// Checks the nodes that take pods without tolerations, where the deployer's exporter runs.
int run_validate_deployed(ToolContext& context, std::span<const std::string> arguments);
int run_cache_check(ToolContext& context, std::span<const std::string> arguments);
int run_sync_check(ToolContext& context, std::span<const std::string> arguments);
int run_scheduler_logs(ToolContext& context, std::span<const std::string> arguments);
int run_watch_attributes(ToolContext& context, std::span<const std::string> arguments);
int run_platform(ToolContext& context, std::span<const std::string> arguments);
int run_topics(ToolContext& context, std::span<const std::string> arguments);
int run_kubelet_config(ToolContext& context, std::span<const std::string> arguments);
int run_jobs(ToolContext& context, std::span<const std::string> arguments);
int run_label_filter(ToolContext& context, std::span<const std::string> arguments);
int run_deployer(ToolContext& context, std::span<const std::string> arguments);
int run_deploy(ToolContext& context, std::span<const std::string> arguments);
int run_remove(ToolContext& context, std::span<const std::string> arguments);
int run_render(ToolContext& context, std::span<const std::string> arguments);
int run_bundle(ToolContext& context, std::span<const std::string> arguments);
int run_operator(ToolContext& context, std::span<const std::string> arguments);
int run_must_gather(ToolContext& context, std::span<const std::string> arguments);

// Returns true if the arguments of upstream's operator make it print and end; false: it reconciles.
bool operator_prints(std::span<const std::string> arguments);

}  // namespace athanor::numa
