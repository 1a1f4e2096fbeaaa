// SPDX-License-Identifier: Apache-2.0
// What each door does with one text.
#include "doors/doors.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/digest.hpp"
#include "base/lz.hpp"
#include "cel/program.hpp"
#include "client/connection.hpp"
#include "client/curl_target.hpp"
#include "client/http/async_http.hpp"
#include "client/http/http_upgrade.hpp"
#include "client/unix_grpc.hpp"
#include "embedded/apiserver/read/encode.hpp"
#include "embedded/apiserver/streaming/spdy.hpp"
#include "embedded/nodes/images/tar_file.hpp"
#include "embedded/store/sqlite.hpp"
#include "embedded/transport/certificate_request.hpp"
#include "embedded/transport/encryption.hpp"
#include "embedded/transport/token_file.hpp"
#include "embedded/transport/token_key.hpp"
#include "kube/names/selector.hpp"
#include "kube/protobuf/protobuf.hpp"
#include "kube/text/json.hpp"
#include "kube/text/regex.hpp"
#include "kube/text/text.hpp"
#include "kube/text/yaml.hpp"
#include "net/crypto.hpp"
#include "net/http2_session.hpp"
#include "net/serving/served_tls.hpp"
#include "net/tls_client.hpp"

namespace athanor::doors {
namespace {

// What comes back must not differ from what went in.
void require(bool holds, const char* why) {
  ATHANOR_CHECK(holds, why);
}

template <class... Answers>
void ignore(const Answers&... /*answers*/) {}

void enter_yaml(std::string_view text) {
  std::vector<std::pair<std::string, std::size_t>> lines;
  std::vector<std::string> duplicates;
  ignore(yaml::parse(text), yaml::parse_all(text), yaml::parse(text, {.strict = true}),
         yaml::parse(text, {.lines = &lines, .duplicates = &duplicates}));
}

void enter_yaml_print(std::string_view text) {
  ignore(yaml::print(Value(text)), yaml::print(Value::object({{std::string(text), text}})),
         yaml::print(Value::list({text})));
}

void enter_json(std::string_view text) {
  std::vector<std::string> duplicates;
  ignore(json::parse(text), json::parse(text, {.duplicates = &duplicates}), json::quote(text),
         go_quote(text), json::print(Value(text), json::Style::Pretty));
}

void enter_protobuf(std::string_view text) {
  const std::string envelope = std::string("k8s\0", 4) + std::string(text);
  ignore(
      protobuf::is_envelope(text), protobuf::decode(text, {}), protobuf::decode(envelope, {}),
      protobuf::decode(envelope, {.api_version = "v1", .kind = "Pod"}),
      protobuf::encode(Value::object(
          {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"data", Value::object({{"a", text}})}})));
}

void enter_cel(std::string_view text) {
  ignore(cel::Program::compile(text, {}));
  const auto program = cel::Program::compile("s.matches(s) || s.contains(s)",
                                             {{"s", cel::simple_type(cel::TypeKind::String)}});
  require(program.ok(), "the expression is right");
}

void enter_regex(std::string_view text) {
  ignore(Regex::compile(text));
  for (const char* pattern : {"", "^$", "a*$", "(a|b)+\\z"}) {
    const auto expression = Regex::compile(pattern);
    require(expression.ok(), "the pattern is right");
    ignore((*expression)->search(text), (*expression)->find(text),
           (*expression)->find(text, text.size()), (*expression)->find(text, text.size() + 1));
  }
}

void enter_selector(std::string_view text) {
  ignore(LabelSelector::parse(text), parse_field_selector(text));
}

void enter_sqlite(std::string_view text) {
  const std::string path = std::filesystem::temp_directory_path().string() + "/athanor-door-" +
                           std::to_string(::getpid()) + ".db";
  {
    auto database = store::Database::open(path);
    require(database.ok(), "a database opens");
    require(database->execute("CREATE TABLE t (a TEXT NOT NULL, b BLOB NOT NULL)").ok(), "a table");
    ignore(database->prepare(text));
    auto insert = database->prepare("INSERT INTO t VALUES (?, ?)");
    require(insert.ok(), "the statement is right");
    insert->bind_text(1, text);
    insert->bind_blob(2, text);
    require(insert->step().ok(), "every text can be stored");
    auto select = database->prepare("SELECT a, b FROM t");
    require(select.ok(), "the statement is right");
    require(select->step().value_or(false), "the row is there");
    require(select->bytes(0) == text && select->bytes(1) == text, "the text is as it was");
  }
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    std::error_code none;
    std::filesystem::remove(path + suffix, none);
  }
}

void enter_lz4(std::string_view text) {
  LzCodec codec(text);
  const std::string packed(codec.compress(text));
  require(codec.decompress(packed, text.size()) == text, "the text is as it was");
}

void enter_certificates(std::string_view view) {
  using namespace net;
  using namespace transport;
  const std::string text(view);
  ignore(reading_bio(view), parse_key(text), parse_certificates(text), is_ip_address(text),
         read_certificate_request(text), TokenKey::from_private_pem(text),
         TokenKey::from_public_pem(text), parse_token_file(view),
         TlsContext::create(text, text, text, true, text), ServedTls().use(text, text),
         problems_of({.min_version = text, .ciphers = {text}}));
  const auto key = generate_key();
  require(key.ok(), "a key is made");
  for (const CertificateSpec& spec :
       {CertificateSpec{.common_name = text}, CertificateSpec{.organizations = {text}},
        CertificateSpec{.common_name = "a", .hosts = {text}}}) {
    ignore(issue(spec, key->get(), {.key = key->get()}));
  }
  const auto authority = issue({.common_name = "a", .use = CertificateSpec::Use::Authority},
                               key->get(), {.key = key->get()});
  require(authority.ok(), "a certificate is made");
  const auto pem = key_pem(key->get());
  require(pem.ok() && certificate_pem(authority->get()).ok(), "they print");
  ignore(covers_host(authority->get(), text),
         grant_certificate({.request_pem = text,
                            .ca_certificate_pem = *certificate_pem(authority->get()),
                            .ca_key_pem = *pem}));
  const auto signer = TokenKey::from_private_pem(*pem);
  require(signer.ok() && signer->sign(view).ok(), "every text can be signed");
  ignore(signer->verify(view, view), signer->verify("a", view));
}

void enter_encryption(std::string_view text) {
  for (const char* cipher : {"aescbc", "aesgcm", "secretbox"}) {
    const auto encryption = transport::Encryption::parse(*yaml::parse(
        "{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: "
        "[{resources: [secrets], providers: [{" +
        std::string(cipher) + ": {keys: [{name: a, secret: '" +
        base64_encode(std::string(32, 'k')) + "'}]}}]}]}"));
    require(encryption.ok(), "the configuration is right");
    const auto sealed = encryption->encrypt("secrets", text, text);
    require(sealed.ok() && sealed->has_value(), "every text can be encrypted");
    const auto opened = encryption->decrypt("secrets", text, **sealed);
    require(opened.ok() && *opened == text, "the text is as it was");
    ignore(encryption->decrypt("secrets", text, text),
           encryption->decrypt("secrets", text,
                               "k8s:enc:" + std::string(cipher) + ":v1:a:" + std::string(text)));
  }
}

void read_archive(const std::string& path) {
  auto archive = nodes::TarFile::open(path);
  std::array<char, 4096> buffer{};
  for (int entries = 0; archive.ok() && entries < 1000; ++entries) {
    const auto entry = archive->next();
    if (!entry.ok() || !*entry) {
      break;
    }
    while (archive->read(buffer.data(), buffer.size()).value_or(0) > 0) {
    }
  }
}

void enter_archive(std::string_view text) {
  const std::string path = std::filesystem::temp_directory_path().string() + "/athanor-door-" +
                           std::to_string(::getpid()) + ".tar";
  for (const std::string_view frame : {std::string_view(), std::string_view("\x28\xb5\x2f\xfd")}) {
    std::ofstream(path, std::ios::binary) << frame << text;
    read_archive(path);
  }
  std::filesystem::remove(path);
}

void enter_tls_client(std::string_view text) {
  net::UncheckedTlsClient client{std::string(text.substr(0, 100))};
  client.send("GET / HTTP/1.1\r\n\r\n");
  ignore(client.take_output());
  for (const std::size_t size : {std::size_t{1}, text.size()}) {
    client.receive(text.substr(0, size));
    ignore(client.take_output(), client.take_plain(), client.failure());
  }
}

void enter_zlib(std::string_view text) {
  apiserver::SpdyConnection connection;
  connection.feed(text);
  while (connection.next()) {
  }
  // A SYN_STREAM whose compressed block is the text's beginning.
  apiserver::SpdyConnection opened;
  const std::string_view block = text.substr(0, 1000);
  const std::size_t size = block.size() + 10;
  std::string frame("\x80\x03\x00\x01\x00", 5);
  frame += {'\0', static_cast<char>(size >> 8U), static_cast<char>(size)};
  frame += std::string("\0\0\0\1\0\0\0\0\0\0", 10) + std::string(block);
  opened.feed(frame);
  while (opened.next()) {
  }
  net::Request request;
  request.headers.emplace("accept-encoding", "gzip");
  net::Response response;
  response.value = Value(text);
  apiserver::encode(request, response);
}

void enter_http2(std::string_view text) {
  const auto session = [] {
    return std::make_unique<net::Http2Session>(
        net::Http2Limits{}, net::Http2Session::Callbacks{
                                .request = [](std::int32_t, const net::Request&) {},
                                .screen = [](std::int32_t, const net::Request&, std::size_t) {},
                                .may_hold = [](std::size_t) { return true; },
                                .waker = [](std::int32_t) { return [] {}; },
                                .gone = [](std::int32_t) {},
                                .date = [] { return std::string(); }});
  };
  ignore(session()->feed(text, {}));
  ignore(session()->feed("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string(text.substr(0, 100'000)),
                         {}));
}

// No request reaches anything: nothing listens on port 1.
void enter_curl(std::string_view view) {
  using namespace std::chrono_literals;
  const std::string text(view);
  const std::string url = "https://127.0.0.1:1/";
  const client::HttpQuery queries[] = {{.url = url + text},
                                       {.url = "https://[" + text},
                                       {.method = text, .url = url},
                                       {.url = url, .headers = {{"a", text}}},
                                       {.url = url, .headers = {{text, "a"}}},
                                       {.method = "POST", .url = url, .body = text},
                                       {.url = url, .ca_pem = text},
                                       {.url = url, .certificate_pem = text, .key_pem = text},
                                       {.url = url, .connect_to = "127.0.0.1:" + text}};
  for (const client::HttpQuery& query : queries) {
    client::AsyncHttp http;
    std::promise<std::string> failure;
    client::HttpQuery timed = query;
    timed.timeout = 20s;
    http.send(std::move(timed),
              [&](client::HttpReply reply) { failure.set_value(std::move(reply.failure)); });
    require(!failure.get_future().get().empty(), "no request gets an answer");
  }
  client::HttpUpgrades upgrades;
  std::promise<void> done;
  upgrades.send({.url = url, .headers = {{"a", text}}},
                [&](const client::UpgradeReply& /*reply*/) { done.set_value(); });
  done.get_future().get();
  ignore(client::escape(view), client::authority_of(text),
         client::call_unix_grpc("/nonexistent", text, text),
         client::call_unix_grpc(text, "/a", ""));
}

const std::vector<Door>& table() {
  static const std::vector<Door> doors{
      {"yaml", {"kube/text/yaml.cpp"}, enter_yaml},
      {"yaml_print", {"kube/text/yaml_print.cpp"}, enter_yaml_print},
      {"json", {}, enter_json},
      {"protobuf", {}, enter_protobuf},
      {"cel", {}, enter_cel},
      {"selector", {}, enter_selector},
      {"re2", {"kube/text/regex.cpp"}, enter_regex},
      {"sqlite", {"embedded/store/sqlite.cpp"}, enter_sqlite},
      {"lz4", {"base/lz.cpp"}, enter_lz4},
      {"openssl",
       {"net/crypto.cpp", "net/tls.cpp", "net/serving/served_tls.cpp",
        "embedded/transport/certificate_request.cpp", "embedded/transport/token_file.cpp",
        "embedded/transport/token_key.cpp"},
       enter_certificates},
      {"encryption",
       {"embedded/transport/encryption.cpp"},
       enter_encryption,
       "",
       std::size_t{2} << 20U},
      {"tls_client", {"net/tls_client.cpp"}, enter_tls_client},
      {"zlib", {"embedded/apiserver/streaming/spdy.cpp", "net/serving/gzip.cpp"}, enter_zlib},
      {"archive", {"embedded/nodes/images/packed_file.cpp"}, enter_archive},
      {"nghttp2", {"net/http2_session.cpp"}, enter_http2},
      {"curl",
       {"client/api_client.cpp", "client/api_exchange.cpp", "client/connection.cpp",
        "client/curl_target.cpp", "client/transfers.cpp", "client/unix_grpc.cpp",
        "client/http/async_http.cpp", "client/http/curl_failure.cpp", "client/http/curl_handle.cpp",
        "client/http/http_upgrade.cpp", "client/http/link_local.cpp", "client/git_source.cpp"},
       enter_curl},
      {"libpq",
       {"console/history/postgres_history.cpp"},
       nullptr,
       "tests/e2e/console/test_console_postgres.py::test_a_refused_entry_does_not_block_others"},
      {"nvml",
       {"agent/nvml/library.cpp"},
       nullptr,
       "tests/unit/agent/nvml/broken_driver_test.cpp::BrokenDriverTest.OneWrongAnswerAnywhere"},
      {"grpc",
       {"agent/kubelet/dra_server.cpp", "agent/kubelet/kubelet_calls.cpp",
        "agent/kubelet/plugin_server.cpp"},
       nullptr,
       "tests/unit/agent/kubelet/"
       "damaged_messages_test.cpp::DamagedMessages.AreAnsweredWithAnError"},
  };
  return doors;
}

}  // namespace

std::span<const Door> all() {
  return table();
}

}  // namespace athanor::doors
