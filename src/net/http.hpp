// SPDX-License-Identifier: Apache-2.0
// The API server's requests and responses, free of any socket: what a transport, the in-process
// client and the simulator all speak.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::net {

// The client's credentials, as the transport found them; the server turns them into a user
// (authenticate.hpp).
struct Credentials {
  // From a client certificate that verified against the client CA.
  struct Certificate {
    std::string common_name{};
    std::vector<std::string> organizations{};
    std::string sha256_hex{};
  };
  std::optional<Certificate> certificate{};
  // Name (CN) of a certificate that verified against the CA of authenticating proxies.
  std::optional<std::string> front_proxy{};
  bool certificate_rejected = false;  // one was presented and did not verify
  // In-process callers skip authentication and act as this user
  // ("system:serviceaccount:kube-system:job-controller").
  std::optional<std::string> internal_user{};
};

// Fields by name in lower case; one entry for each line, in the order of the lines.
using Headers = std::multimap<std::string, std::string, std::less<>>;

// One HTTP request, decoded, with its body.
struct Request {
  std::string method{};  // GET, POST, ...
  std::string path{};    // decoded only as far as segments need it: "/api/v1/namespaces/a/pods/b"
  std::vector<std::pair<std::string, std::string>> query{};  // decoded, in order
  Headers headers{};
  // In-process callers hand over the parsed body; the transport the bytes.
  std::variant<std::string, Value> body{};
  Credentials credentials{};
  std::string peer{};  // the client's address, without its port; empty in the process
  // It waited too long among too many: refused with 429, unless it is exempt.
  bool overdue = false;
  // Server::admits() refused it, and its body was not read: it is answered, but never served.
  bool without_body = false;

  // Returns the first value, empty without one.
  [[nodiscard]] std::string_view header(std::string_view lower_case_name) const;
  // Returns every value. A comma within one belongs to it: groups are names such as "cn=a,dc=b".
  [[nodiscard]] std::vector<std::string_view> header_values(std::string_view lower_case_name) const;
  // Returns the values joined by ", ": for fields that are lists, such as Accept and Connection.
  [[nodiscard]] std::string header_list(std::string_view lower_case_name) const;
  // Returns the first value of a query parameter, or nullopt.
  [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const;
  [[nodiscard]] std::vector<std::string_view> parameters(std::string_view name) const;
};

// A response body that goes on: watches and followed logs. Pulled by the transport; thread-safe
// against wake().
class Stream {
 public:
  virtual ~Stream() = default;
  enum class State : std::uint8_t { Open, Ended };
  // Appends what is ready to `out` (whole frames) and says whether more may follow. Never blocks.
  virtual State pull(std::string& out) = 0;
  // Sets `wake`, which is called (from any thread, must be quick) whenever pull() may have
  // something new. Call it once.
  virtual void on_ready(std::function<void()> wake) = 0;
};

// A connection that leaves HTTP with a 101: raw bytes both ways. Used on the transport's thread
// alone; only the wake of on_ready() comes from others.
class Tunnel : public Stream {
 public:
  // Passes bytes of the client on. Never blocks.
  virtual void feed(std::string_view bytes) = 0;
  // Returns false if feed() must get no more bytes until the next wake.
  [[nodiscard]] virtual bool wants_more() const = 0;
};

// One HTTP answer: a body as text, or a stream.
struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>>
      headers{};  // more headers (Warning, Audit-Id, ...)
  // Sent after the body, over HTTP/2 alone; such an answer has no Content-Length.
  std::vector<std::pair<std::string, std::string>> trailers{};
  // In-process callers read `value`; for the outside `body` is the encoded text. A handler fills
  // one of the two; encode() (encode.hpp) makes bytes of a value.
  std::string body{};
  std::optional<Value> value{};
  std::unique_ptr<Stream> stream{};  // set: the body is this, chunked
  // Set, with status 101: what the connection carries from now on.
  std::unique_ptr<Tunnel> tunnel{};
  // The answer may leave the process once the store is durable up to here (0: at once).
  std::uint64_t durable_after = 0;
};

}  // namespace athanor::net
