// SPDX-License-Identifier: Apache-2.0
#include "client/http/link_local.hpp"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>

namespace athanor::client {
namespace {

bool is_link_local_v4(std::uint32_t host_order) {
  constexpr std::uint32_t kNetwork = 0xa9fe'0000;  // 169.254.0.0
  constexpr std::uint32_t kMask = 0xffff'0000;
  return (host_order & kMask) == kNetwork;
}

curl_socket_t open_socket(void* refused, curlsocktype /*purpose*/, curl_sockaddr* address) {
  // libcurl keeps what is longer than a sockaddr behind it.
  if (is_link_local(address->addr)) {
    *static_cast<bool*>(refused) = true;
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

}  // namespace

bool is_link_local(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, static_cast<const void*>(&address), sizeof(v4));
    return is_link_local_v4(ntohl(v4.sin_addr.s_addr));
  }
  if (address.sa_family != AF_INET6) {
    return false;
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, static_cast<const void*>(&address), sizeof(v6));
  std::uint32_t last = 0;
  std::memcpy(&last, &v6.sin6_addr.s6_addr[12], sizeof(last));
  return IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr) != 0 ||
         (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) != 0 && is_link_local_v4(ntohl(last)));
}

void refuse_link_local(void* easy, bool& refused) {
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, &refused);
}

}  // namespace athanor::client
