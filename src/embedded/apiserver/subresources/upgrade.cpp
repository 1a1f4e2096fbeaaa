// SPDX-License-Identifier: Apache-2.0
// pods/exec, pods/attach and pods/portforward: from the request to its tunnel
// (docs/spec/apiserver.md 12.5).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "embedded/apiserver/request/respond.hpp"
#include "embedded/apiserver/streaming/pod_streams.hpp"
#include "embedded/apiserver/streaming/tunnels.hpp"
#include "embedded/apiserver/streaming/upgrade_request.hpp"
#include "embedded/apiserver/subresources/pod_subresources.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::size_t kMostPorts = 64;  // channels are one byte

enum class Wire : std::uint8_t { WebSocket, Spdy };

struct Agreed {
  Wire wire = Wire::WebSocket;
  std::string protocol{};
};

bool stream_flag(const Call& call, std::string_view name) {
  const auto text = call.request.parameter(name);
  return text && (*text == "true" || *text == "1");
}

std::string listed(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() || word.empty() ? "" : " ") + word;
  }
  return "[" + text + "]";
}

// The first protocol of the client's list that is served.
StatusResult<Agreed> agree(const Request& request, const std::vector<std::string>& over_websocket,
                           const std::vector<std::string>& over_spdy) {
  Agreed agreed;
  std::string offer = request.header_list("sec-websocket-protocol");
  const std::vector<std::string>* served = &over_websocket;
  if (asks_to_upgrade(request, "spdy/3.1")) {
    agreed.wire = Wire::Spdy;
    offer = request.header_list("x-stream-protocol-version");
    served = &over_spdy;
  } else if (!asks_to_upgrade(request, "websocket") ||
             request.header("sec-websocket-key").empty() ||
             request.header("sec-websocket-version") != "13") {
    return status::bad_request("Upgrade request required");
  }
  std::vector<std::string> offered = header_elements(offer);
  if (agreed.wire == Wire::WebSocket && offered_subprotocols(request).empty()) {
    offered.emplace_back();  // the protocol without a name
  }
  for (const std::string& protocol : offered) {
    if (std::find(served->begin(), served->end(), protocol) != served->end()) {
      agreed.protocol = protocol;
      return agreed;
    }
  }
  StatusError error = status::of(
      {.code = 403,
       .reason = "Forbidden",
       .message = fmt::format("unable to upgrade: unable to negotiate protocol: client supports "
                              "{}, server accepts {}",
                              listed(offered), listed(*served))});
  return error;
}

Response switched(const Request& request, const Agreed& agreed, std::unique_ptr<Tunnel> tunnel) {
  if (agreed.wire == Wire::WebSocket) {
    return websocket_response(request, agreed.protocol, std::move(tunnel));
  }
  Response response;
  response.status = 101;
  response.content_type.clear();
  response.headers.emplace_back("Connection", "Upgrade");
  response.headers.emplace_back("Upgrade", "SPDY/3.1");
  response.headers.emplace_back("X-Stream-Protocol-Version", agreed.protocol);
  response.tunnel = std::move(tunnel);
  return response;
}

// Upgrades are GETs with WebSocket, but what they do is create's (Kubernetes 1.35 asks for both).
StatusResult<void> authorize_create(const Call& call) {
  if (call.path.verb == "create") {
    return {};
  }
  Attributes attributes = attributes_of(call.path, call.request, call.user);
  attributes.verb = "create";
  if (const Decision decision = call.core.authorizer->authorize(attributes); !decision.allowed) {
    return access_denied(attributes, decision);
  }
  return {};
}

StatusResult<store::StoredPtr> running_pod(const Call& call) {
  ATHANOR_TRY_VOID(authorize_create(call));
  const Key key = call.key();
  store::StoredPtr pod = call.core.store.get("pods", key);
  if (pod == nullptr) {
    return status::not_found(call.qualified_resource(), key.name);
  }
  if (pod->body["spec"]["nodeName"].as_string().empty()) {
    return status::bad_request(fmt::format("pod {} does not have a host assigned", key.name));
  }
  if (call.core.dependencies.streams == nullptr) {
    return status::of({.code = 501,
                       .reason = "NotImplemented",
                       .message = "the pods of this server run no processes to stream to"});
  }
  return pod;
}

StatusResult<ExecOptions> exec_options(const Call& call, const Value& pod) {
  ExecOptions options;
  options.container = std::string(call.request.parameter("container").value_or(""));
  options.input = stream_flag(call, "stdin");
  options.output = stream_flag(call, "stdout");
  options.error = stream_flag(call, "stderr");
  options.terminal = stream_flag(call, "tty");
  for (const std::string_view word : call.request.parameters("command")) {
    options.command.emplace_back(word);
  }
  if (!options.input && !options.output && !options.error) {
    return status::bad_request("you must specify at least 1 of stdin, stdout, stderr");
  }
  ATHANOR_TRY_VOID(choose_container(pod, options.container));
  return options;
}

StatusResult<Response> handle_session(Call& call, bool exec) {
  ATHANOR_TRY(const store::StoredPtr pod, running_pod(call));
  ATHANOR_TRY(const ExecOptions options, exec_options(call, pod->body));
  if (exec && options.command.empty()) {
    return status::bad_request("you must specify at least 1 command");
  }
  ATHANOR_TRY(const Agreed agreed,
              agree(call.request, names_of(exec_protocols()), {"v4.channel.k8s.io"}));
  PodStreams& streams = *call.core.dependencies.streams;
  const std::string_view uid = pod->body["metadata"]["uid"].as_string();
  auto session =
      exec ? streams.exec(call.key(), uid, options) : streams.attach(call.key(), uid, options);
  if (!session.ok()) {
    StatusError error =
        status::internal("unable to upgrade connection: " + session.error().message);
    return error;
  }
  return switched(call.request, agreed,
                  agreed.wire == Wire::Spdy
                      ? spdy_exec(*std::move(session), options)
                      : websocket_exec(*std::move(session), options,
                                       find_protocol(exec_protocols(), agreed.protocol)));
}

StatusResult<std::vector<std::uint16_t>> ports_of(const Call& call) {
  std::vector<std::uint16_t> ports;
  for (const std::string_view list : call.request.parameters("ports")) {
    for (const std::string& text : header_elements(list)) {
      std::uint16_t port = 0;
      const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), port);
      if (problem != std::errc() || end != text.data() + text.size() || port == 0) {
        return status::bad_request(fmt::format("invalid port {}", text));
      }
      ports.push_back(port);
    }
  }
  if (ports.empty() || ports.size() > kMostPorts) {
    return status::bad_request("query parameter \"ports\" is required");
  }
  return ports;
}

}  // namespace

StatusResult<Response> handle_exec(Call& call) {
  return handle_session(call, true);
}

StatusResult<Response> handle_attach(Call& call) {
  return handle_session(call, false);
}

StatusResult<Response> handle_port_forward(Call& call) {
  ATHANOR_TRY(const store::StoredPtr pod, running_pod(call));
  const std::string tunnelled = "SPDY/3.1+portforward.k8s.io";
  std::vector<std::string> served = names_of(port_protocols());
  served.insert(served.begin(), tunnelled);
  ATHANOR_TRY(const Agreed agreed, agree(call.request, served, {"portforward.k8s.io"}));
  PortDialer dial = [streams = call.core.dependencies.streams, key = call.key(),
                     uid = pod->body["metadata"]["uid"].str()](std::uint16_t port) {
    return streams->connect(key, uid, port);
  };
  if (agreed.wire == Wire::WebSocket && agreed.protocol != tunnelled) {
    ATHANOR_TRY(const std::vector<std::uint16_t> ports, ports_of(call));
    auto tunnel = websocket_ports(dial, ports, find_protocol(port_protocols(), agreed.protocol));
    if (!tunnel.ok()) {
      return status::of(tunnel.error());
    }
    return switched(call.request, agreed, *std::move(tunnel));
  }
  auto tunnel = spdy_ports(std::move(dial));
  if (agreed.wire == Wire::WebSocket) {
    tunnel = inside_websocket(std::move(tunnel));
  }
  return switched(call.request, agreed, std::move(tunnel));
}

}  // namespace athanor::apiserver
