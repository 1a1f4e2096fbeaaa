// SPDX-License-Identifier: Apache-2.0
#include "client/unix_grpc.hpp"

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/un.h>
#include <unistd.h>

#include <string_view>

#include "base/ascii.hpp"
#include "client/curl_target.hpp"
#include "client/http/curl_handle.hpp"

namespace athanor::client {
namespace {

constexpr std::size_t kPrefix = 5;  // compressed or not, and the length

struct Answer {
  std::string body{};
  std::string status{};   // grpc-status, in headers or trailers
  std::string message{};  // grpc-message
  std::size_t limit = 0;
};

std::size_t take_body(const char* bytes, std::size_t size, std::size_t count, void* user) {
  Answer& answer = *static_cast<Answer*>(user);
  if (answer.body.size() + size * count > answer.limit) {
    return 0;
  }
  answer.body.append(bytes, size * count);
  return size * count;
}

std::size_t take_header(const char* bytes, std::size_t size, std::size_t count, void* user) {
  Answer& answer = *static_cast<Answer*>(user);
  const std::string_view line(bytes, size * count);
  const std::size_t colon = line.find(':');
  if (colon != std::string_view::npos) {
    const std::string name = lower(line.substr(0, colon));
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (name == "grpc-status") {
      answer.status = value;
    } else if (name == "grpc-message") {
      answer.message = value;
    }
  }
  return size * count;
}

// A name of the socket that has room in an address, which is about a hundred bytes: its folder by
// its descriptor where the path has not.
class SocketName {
 public:
  explicit SocketName(const std::string& path) : name_(path) {
    const std::size_t slash = path.rfind('/');
    if (path.size() < sizeof(sockaddr_un{}.sun_path) || slash == std::string::npos) {
      return;
    }
    folder_ = ::open(path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder_ >= 0) {
      name_ = fmt::format("/proc/self/fd/{}{}", folder_, path.substr(slash));
    }
  }
  SocketName(const SocketName&) = delete;
  SocketName& operator=(const SocketName&) = delete;
  ~SocketName() {
    if (folder_ >= 0) {
      ::close(folder_);
    }
  }
  [[nodiscard]] const char* text() const { return name_.c_str(); }

 private:
  std::string name_;
  int folder_ = -1;
};

std::string framed(const std::string& message) {
  std::string frame(kPrefix, '\0');
  for (std::size_t i = 0; i < 4; ++i) {
    frame[4 - i] = static_cast<char>(message.size() >> (8 * i) & 0xFFU);
  }
  return frame + message;
}

Result<std::string> unframed(const std::string& body, const std::string& method) {
  std::size_t size = 0;
  for (std::size_t i = 1; i < kPrefix && i < body.size(); ++i) {
    size = size << 8U | static_cast<unsigned char>(body[i]);
  }
  if (body.size() < kPrefix || body[0] != 0 || body.size() - kPrefix != size) {
    return Error::unavailable(method + ": malformed gRPC answer");
  }
  return body.substr(kPrefix);
}

}  // namespace

Result<std::string> call_unix_grpc(const std::string& socket, const std::string& method,
                                   const std::string& message, const GrpcLimits& limits) {
  if (!method.starts_with('/')) {
    return Error::bad_request(fmt::format("{}: \"{}\" is no method of gRPC", socket, method));
  }
  if (!curl_ready()) {
    return Error::internal("libcurl cannot be initialised");
  }
  const Easy easy(curl_easy_init());
  if (easy == nullptr) {
    return Error::internal("libcurl gives no handle");
  }
  CURL* handle = easy.get();
  Answer answer{.limit = limits.answer + kPrefix};
  const std::string body = framed(message);
  CurlList headers;
  add_line(headers, "Content-Type: application/grpc");
  add_line(headers, "TE: trailers");
  add_line(headers, "Expect:");
  curl_easy_setopt(handle, CURLOPT_URL, ("http://localhost" + method).c_str());
  const SocketName name(socket);
  // Without a path libcurl would dial the host of the URL.
  if (socket.empty() ||
      curl_easy_setopt(handle, CURLOPT_UNIX_SOCKET_PATH, name.text()) != CURLE_OK) {
    return Error::bad_request("no path of a Unix socket");
  }
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION,
                   static_cast<long>(CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE));
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_PROXY, "");
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(limits.timeout.count()));
  curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body.data());
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, static_cast<void*>(&answer));
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, static_cast<void*>(&answer));
  const CURLcode code = curl_easy_perform(handle);
  if (code != CURLE_OK) {
    return Error::unavailable(
        fmt::format("{}: {}: {}", socket, method.substr(1),
                    code == CURLE_WRITE_ERROR ? "answer too large" : curl_easy_strerror(code)));
  }
  if (answer.status != "0") {
    return Error::unavailable(fmt::format("{}: {}: status {} {}", socket, method.substr(1),
                                          answer.status.empty() ? "missing" : answer.status,
                                          answer.message));
  }
  return unframed(answer.body, method);
}

}  // namespace athanor::client
