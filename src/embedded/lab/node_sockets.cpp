// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/node_sockets.hpp"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "base/log.hpp"
#include "embedded/bridge/in_process_webhooks.hpp"
#include "embedded/bridge/store_snapshot.hpp"
#include "embedded/lab/node_files.hpp"
#include "embedded/nodes/nodes.hpp"
#include "net/grpc_server.hpp"

namespace athanor::lab {
namespace {

constexpr Duration kSocketPeriod = std::chrono::seconds(1);
constexpr std::size_t kMostSockets = 1024;  // descriptors are few
constexpr int kGrpcNotFound = 5;            // of gRPC

// Names of nodes are DNS names; an object of another name has no folder.
bool is_folder_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string_view::npos;
}

}  // namespace

struct NodeSockets::State {
  const SystemConfig& config;
  const store::Store& store;
  std::function<Instant()> clock;
  std::string folder;
  bridge::StoredForms forms{};
  std::vector<const NodeSocket*> sockets{};
  std::vector<std::vector<NodeFile> (*)(const Object& node)> files{};
  std::map<std::string, std::string>
      written{};  // by node: its version, the files of which are there
  // By path: whether it is open; what cannot be opened is said once.
  std::map<std::string, bool> known{};
  std::optional<Instant> last{};
  bool full = false;
  net::GrpcServer server{};  // its thread reads the members above

  [[nodiscard]] bridge::StoreSnapshot snapshot() const {
    static const bridge::AnswerQuery kNone;
    bridge::StoreSnapshot now(store, config, {}, kNone, clock());
    now.read_by(forms);
    return now;
  }

  [[nodiscard]] net::GrpcAnswer answer(const NodeSocket& socket, const std::string& node,
                                       std::string_view method, std::string_view message) const {
    const bridge::StoreSnapshot current = snapshot();
    Reads reads;
    const View view(current, reads);
    const auto object = view.get(api::kNode, {"", node});
    if (!object) {
      return {.status = kGrpcNotFound, .message = "node " + node + " not found"};
    }
    NodeSocketAnswer said = socket.answer(view, *object, method, message);
    return {
        .status = said.status, .message = std::move(said.message), .body = std::move(said.body)};
  }

  void write_files(const Object& node);

  void open(const std::string& path, const std::string& node, const NodeSocket& socket) {
    if (known.size() >= kMostSockets) {
      if (!std::exchange(full, true)) {
        log::warn("no more sockets of nodes are opened", {{"open", std::to_string(known.size())}});
      }
      return;
    }
    const auto opened =
        server.open(path, [this, node, &socket](std::string_view method, std::string_view message,
                                                const net::GrpcServer::Reply& reply) {
          reply(answer(socket, node, method, message));
        });
    if (!opened.ok()) {
      log::warn("a node's socket is missing", {{"node", node}, {"error", opened.error().message}});
    }
    known.emplace(path, opened.ok());
  }
};

void NodeSockets::State::write_files(const Object& node) {
  const std::string name(node.name());
  std::string& version = written[name];
  if (version == node.resource_version()) {
    return;
  }
  version = node.resource_version();
  for (const auto files_of : files) {
    for (const NodeFile& file : files_of(node)) {
      const auto done = write_node_file(folder, name, file.path, file.content);
      if (!done.ok()) {
        log::warn("a node's file is missing", {{"node", name}, {"error", done.error().message}});
        return;
      }
    }
  }
}

NodeSockets::NodeSockets(Systems systems, const SystemConfig& config, const store::Store& store,
                         std::function<Instant()> clock, std::string folder)
    : state_(new State{.config = config,
                       .store = store,
                       .clock = std::move(clock),
                       .folder = std::move(folder),
                       .forms = bridge::stored_forms(systems)}) {
  for (const System* system : systems) {
    for (const NodeHooks* hooks : system->node_hooks) {
      for (const NodeSocket& socket : hooks->sockets) {
        state_->sockets.push_back(&socket);
      }
      if (hooks->files != nullptr) {
        state_->files.push_back(hooks->files);
      }
    }
  }
}

NodeSockets::~NodeSockets() = default;

void NodeSockets::look(Instant now) {
  if ((state_->sockets.empty() && state_->files.empty()) ||
      (state_->last && now >= *state_->last && now < *state_->last + kSocketPeriod)) {
    return;
  }
  state_->last = now;
  std::map<std::string, bool> gone = state_->known;
  for (const Object& node : state_->snapshot().list(api::kNode, {})) {
    const std::string name(node.name());
    if (node.label(nodes::kEmulatedLabel) != "true" || node.deleting() || !is_folder_name(name)) {
      continue;
    }
    state_->write_files(node);
    for (const NodeSocket* socket : state_->sockets) {
      if (!socket->present(node)) {
        continue;
      }
      const std::string path = state_->folder + "/" + name + std::string(socket->path);
      gone.erase(path);
      if (!state_->known.contains(path)) {
        state_->open(path, name, *socket);
      }
    }
  }
  for (const auto& [path, open] : gone) {
    if (open) {
      state_->server.close(path);
    }
    state_->known.erase(path);
  }
}

}  // namespace athanor::lab
