// SPDX-License-Identifier: Apache-2.0
#include "client/git_source.hpp"

#include <curl/curl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "base/condition_variable.hpp"
#include "base/digest.hpp"
#include "base/files/folder.hpp"
#include "base/files/scratch_folder.hpp"
#include "base/mutex.hpp"
#include "base/process/program.hpp"
#include "client/http/link_local.hpp"
#include "kube/text/json.hpp"

namespace athanor::client {
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{1} << 20;  // more than an object may have
constexpr std::size_t kMostWaiting = 256;
constexpr std::int64_t kBlock = 512;  // bytes of the shell's `ulimit -f`
constexpr int kMostMemory = 1 << 20;  // KiB of `ulimit -v`: git keeps a server's list of refs whole

using Setting = std::pair<std::string, std::string>;

struct RepositoryHost {
  std::string name{};
  std::string port{};
};

// Takes a URL apart. Errors: it is not one of http or https, or holds a name or password.
Result<RepositoryHost> host_of_repository(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&::curl_url_cleanup)> parsed(::curl_url(),
                                                                     &::curl_url_cleanup);
  const auto part = [&](CURLUPart which) {
    char* text = nullptr;
    std::string copy;
    if (::curl_url_get(parsed.get(), which, &text, CURLU_DEFAULT_PORT) == CURLUE_OK) {
      copy = text;
    }
    ::curl_free(text);
    return copy;
  };
  const bool valid = ::curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) == CURLUE_OK;
  const std::string scheme = part(CURLUPART_SCHEME);
  if (!valid || (scheme != "https" && scheme != "http")) {
    return Error::bad_request(
        fmt::format("'{}' is not the address of a repository over https or http", url));
  }
  if (!part(CURLUPART_USER).empty() || !part(CURLUPART_PASSWORD).empty()) {
    return Error::bad_request("the address of a repository holds a name or password; use gitToken");
  }
  RepositoryHost host{.name = part(CURLUPART_HOST), .port = part(CURLUPART_PORT)};
  if (host.name.starts_with('[')) {
    host.name = host.name.substr(1, host.name.size() - 2);
  }
  return host;
}

// Returns the setting that lets git dial the address that was checked, whatever the name's server
// says next.
Result<Setting> pinned_address(const RepositoryHost& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(host.name.c_str(), host.port.c_str(), &hints, &found);
      failed != 0) {
    return Error::bad_request(fmt::format("host {}: {}", host.name, ::gai_strerror(failed)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  std::string addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (is_link_local(*one->ai_addr)) {
      return Error::bad_request(std::string(kLinkLocalRefused));
    }
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      const std::string address(text.data());
      addresses += addresses.empty() ? "" : ",";
      addresses += one->ai_family == AF_INET6 ? "[" + address + "]" : address;
    }
  }
  return Setting("http.curloptResolve", fmt::format("{}:{}:{}", host.name, host.port, addresses));
}

// Returns true if a file in the folder has grown to the limit: git names no such cause.
bool reached_limit(const std::string& folder, std::int64_t most_bytes) {
  return std::ranges::any_of(paths_below(folder), [&](const std::string& path) {
    std::error_code unclear;
    const auto size = std::filesystem::file_size(path, unclear);
    return !unclear && static_cast<std::int64_t>(size) >= most_bytes / kBlock * kBlock;
  });
}

// Returns the last line that git printed, without its prefixes.
std::string cause_of(const ProgramResult& result) {
  std::string text = result.output;
  text.erase(text.find_last_not_of(" \n") + 1);
  text = text.substr(text.find_last_of('\n') + 1);
  for (const std::string_view prefix : {"fatal: ", "error: "}) {
    if (text.starts_with(prefix)) {
      text.erase(0, prefix.size());
    }
  }
  constexpr std::size_t kMostCause = 300;
  return text.substr(0, kMostCause);
}

// One question at a repository.
struct GitQuestion {
  std::string url{};
  std::string revision{};
  std::string path{};
  Value secret{};
};

}  // namespace

struct GitSource::State {
  explicit State(GitSourceOptions given) : options(std::move(given)) {}

  const GitSourceOptions options;
  std::atomic<bool> stopping{false};
  Mutex mutex{};
  ConditionVariable news{};
  std::deque<std::pair<GitQuestion, Done>> waiting ATHANOR_GUARDED_BY(mutex){};
  std::thread thread{};

  void run();
  Result<Value> answer(const GitQuestion& question) const;
  Result<std::string> authorization(const Value& secret) const;
  Result<std::string> git(const std::string& folder, std::vector<std::string> words,
                          const std::vector<Setting>& settings, bool takes_errors) const;
  Result<std::string> read_file(const std::string& folder, const GitQuestion& question) const;
};

// Runs git in the folder with nothing of this user's or machine's configuration. `ulimit` ends a
// fetch whose pack grows too large.
Result<std::string> GitSource::State::git(const std::string& folder, std::vector<std::string> words,
                                          const std::vector<Setting>& settings,
                                          bool takes_errors) const {
  ProgramCall call{.words = {"/bin/sh", "-c",
                             fmt::format("ulimit -f {}; ulimit -v {}; exec git \"$@\"",
                                         options.most_bytes / kBlock, kMostMemory),
                             "git", "-C", folder},
                   .variables = {{"HOME", folder},
                                 {"LC_ALL", "C"},
                                 {"GIT_CONFIG_NOSYSTEM", "1"},
                                 {"GIT_CONFIG_GLOBAL", "/dev/null"},
                                 {"GIT_TERMINAL_PROMPT", "0"},
                                 {"GIT_ASKPASS", "/bin/true"},
                                 {"GIT_ALLOW_PROTOCOL", "https:http"},
                                 {"GIT_CONFIG_COUNT", std::to_string(settings.size())}},
                   .timeout = options.timeout,
                   .output_limit = kMostFileBytes,
                   .takes_errors = takes_errors,
                   .cancelled = &stopping};
  call.words.insert(call.words.end(), std::make_move_iterator(words.begin()),
                    std::make_move_iterator(words.end()));
  for (std::size_t i = 0; i < settings.size(); ++i) {
    call.variables.emplace_back(fmt::format("GIT_CONFIG_KEY_{}", i), settings[i].first);
    call.variables.emplace_back(fmt::format("GIT_CONFIG_VALUE_{}", i), settings[i].second);
  }
  ProgramResult result = run_program(call);
  constexpr int kMissing = 127;
  switch (result.ending) {
    case ProgramEnding::Late:
      return Error::bad_request(
          fmt::format("git did not end within {} s",
                      std::chrono::duration_cast<std::chrono::seconds>(options.timeout).count()));
    case ProgramEnding::Talkative:
      return Error::bad_request("git printed more than 1 MiB");
    case ProgramEnding::NotFound:
    case ProgramEnding::Failed:
      return Error::internal("/bin/sh cannot be started");
    case ProgramEnding::Exited:
      break;
  }
  if (result.code == kMissing) {
    return Error::bad_request("the resolver git needs the program git on the lab's machine");
  }
  if (result.code != 0 && reached_limit(folder, options.most_bytes)) {
    return Error::bad_request(
        fmt::format("the commit is larger than {} MiB", options.most_bytes >> 20));
  }
  if (result.code != 0) {
    return Error::bad_request(cause_of(result));
  }
  return std::move(result.output);
}

Result<std::string> GitSource::State::authorization(const Value& secret) const {
  const Key key{secret["namespace"].str(), secret["name"].str()};
  ATHANOR_TRY(const Value found, options.secret(key));
  const auto token = base64_decode(found["data"][secret["key"].as_string()].as_string());
  if (!token || token->empty()) {
    return Error::bad_request(
        fmt::format("secret {}/{} has no key {}", key.ns, key.name, secret["key"].str()));
  }
  std::string text = *token;
  text.erase(text.find_last_not_of(" \n") + 1);
  return "Authorization: Basic " + base64_encode("git:" + text);
}

// Reads the file out of the commit that was fetched. A link would be read as its target's name: it
// is refused, as is a folder.
Result<std::string> GitSource::State::read_file(const std::string& folder,
                                                const GitQuestion& question) const {
  ATHANOR_TRY(const std::string listed,
              git(folder, {"ls-tree", "-l", "FETCH_HEAD", "--", question.path}, {}, false));
  // "100644 blob <hash> <size>\t<path>"
  const std::string mode = listed.substr(0, listed.find(' '));
  if (listed.empty()) {
    return Error::bad_request(
        fmt::format("there is no file {} at revision {}", question.path, question.revision));
  }
  if (mode != "100644" && mode != "100755") {
    return Error::bad_request(fmt::format("{} is no file but a {}", question.path,
                                          mode == "120000"   ? "symbolic link"
                                          : mode == "160000" ? "submodule"
                                                             : "folder"));
  }
  const std::string head = listed.substr(0, listed.find('\t'));
  const auto size = json::parse(head.substr(head.rfind(' ') + 1));
  if (!size.ok() || size->as_int(-1) < 0 ||
      size->as_int() > static_cast<std::int64_t>(kMostFileBytes)) {
    return Error::bad_request("the file is larger than 1 MiB");
  }
  return git(folder, {"cat-file", "blob", "FETCH_HEAD:" + question.path}, {}, false);
}

Result<Value> GitSource::State::answer(const GitQuestion& question) const {
  if (question.revision.empty() || question.revision.starts_with('-') ||
      question.revision.find_first_of(" \n\t:*?[\\^~") != std::string::npos) {
    return Error::bad_request(fmt::format("'{}' is no revision", question.revision));
  }
  if (!is_path_below(question.path)) {
    return Error::bad_request(fmt::format("'{}' is no path in a repository", question.path));
  }
  ATHANOR_TRY(const RepositoryHost host, host_of_repository(question.url));
  ATHANOR_TRY(Setting address, pinned_address(host));
  std::vector<Setting> settings{{"http.followRedirects", "false"},
                                {"fetch.unpackLimit", "1"},  // one pack, whose size is bounded
                                {"fetch.fsckObjects", "true"},
                                {"core.hooksPath", "/dev/null"},
                                std::move(address)};
  if (!question.secret.is_null()) {
    ATHANOR_TRY(std::string header, authorization(question.secret));
    settings.emplace_back("http.extraHeader", std::move(header));
  }
  std::error_code failed;
  ATHANOR_TRY(const ScratchFolder scratch,
              ScratchFolder::make(std::filesystem::temp_directory_path(failed), "athanor-git-"));
  ATHANOR_TRY_VOID(git(scratch.path(), {"init", "-q", "--bare", "."}, {}, true));
  const auto fetched = git(scratch.path(),
                           {"fetch", "-q", "--depth=1", "--no-tags", "--no-recurse-submodules",
                            "--no-write-commit-graph", "--", question.url, question.revision},
                           settings, true);
  if (!fetched.ok()) {
    return fetched.error();
  }
  ATHANOR_TRY(const std::string text, read_file(scratch.path(), question));
  ATHANOR_TRY(std::string commit, git(scratch.path(), {"rev-parse", "FETCH_HEAD"}, {}, false));
  commit.erase(commit.find_last_not_of('\n') + 1);
  return Value::object({{"text", text}, {"commit", commit}});
}

void GitSource::State::run() {
  while (true) {
    std::pair<GitQuestion, Done> next;
    {
      MutexLock lock(mutex);
      news.wait(lock, [this]() ATHANOR_REQUIRES(mutex) { return !waiting.empty() || stopping; });
      if (stopping) {
        return;
      }
      next = std::move(waiting.front());
      waiting.pop_front();
    }
    auto answered = answer(next.first);
    if (!answered.ok()) {
      answered = answered.error().with_context(
          fmt::format("cannot read '{}' of '{}'", next.first.path, next.first.url));
    }
    next.second(std::move(answered));
  }
}

GitSource::GitSource(GitSourceOptions options)
    : state_(std::make_unique<State>(std::move(options))) {
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

GitSource::~GitSource() {
  {
    const MutexLock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->news.notify_all();
  state_->thread.join();
}

void GitSource::ask(const std::string& query, Done done) {
  const auto question = json::parse(query.substr(std::min(query.find(':') + 1, query.size())));
  if (!question.ok()) {
    done(Error::bad_request("the question names no repository"));
    return;
  }
  {
    const MutexLock lock(state_->mutex);
    if (state_->waiting.size() < kMostWaiting) {
      state_->waiting.emplace_back(GitQuestion{.url = (*question)["url"].str(),
                                               .revision = (*question)["revision"].str(),
                                               .path = (*question)["path"].str(),
                                               .secret = (*question)["secret"]},
                                   std::move(done));
      done = nullptr;
    }
  }
  if (done) {
    done(Error::unavailable("too many repositories are waited for"));
    return;
  }
  state_->news.notify_all();
}

}  // namespace athanor::client
