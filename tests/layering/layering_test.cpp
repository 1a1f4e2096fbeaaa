// SPDX-License-Identifier: Apache-2.0
// The rules of docs/architecture.md: which layer may include which, who may touch a
// third-party library or the operating system, and how every file begins and ends. The check reads
// #include lines, so a wrong arrow is found before it links.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layering/layers.hpp"
#include "layering/sources.hpp"

namespace athanor::layering {
namespace {

using Names = std::set<std::string_view>;

// Third-party libraries by the start of their header's name, and the layers that may include them.
const std::map<std::string_view, Names> kThirdParty{
    {"yaml.h", {"kube"}},
    {"re2/", {"kube"}},
    {"prometheus/", {"runtime"}},
    {"curl/", {"client"}},
    {"openssl/", {"net", "transport"}},
    {"sqlite3.h", {"store"}},
    {"libpq-fe.h", {"console"}},
    {"nghttp2/", {"net"}},
    {"boost/", {"net"}},
    {"zlib.h", {"apiserver", "net", "images"}},
    {"zstd.h", {"images"}},
    {"deviceplugin.", {"kubelet"}},
    {"podresources.", {"kubelet"}},
};

// Layers that may ask the operating system (files, processes, sockets).
const Names kMayUsePosix{"base",     "client",      "store",  "net",    "transport", "process",
                         "targets",  "lab",         "cli",    "nvml",   "kubelet",   "agent",
                         "exporter", "pod_network", "images", "console"};
constexpr std::string_view kPosix[] = {"sys/",    "netinet/",  "arpa/",    "unistd.h", "fcntl.h",
                                       "poll.h",  "dirent.h",  "signal.h", "csignal",  "pthread.h",
                                       "sched.h", "termios.h", "netdb.h",  "spawn.h",  "grp.h",
                                       "pwd.h",   "dlfcn.h",   "linux/"};

// Layers whose functions are pure: no clock, environment, randomness, thread, unordered iteration.
const Names kPure{"fournos",  "fournos_kinds", "hearth_kinds", "hearth", "appwrapper",
                  "das",      "numa",          "kueue",        "tekton", "workloads",
                  "wrapped",  "scheduler",     "nodes",        "view",   "api",
                  "extender", "devices",       "views"};
constexpr std::string_view kImpure[] = {"system_clock",
                                        "steady_clock",
                                        "high_resolution_clock",
                                        "wall_clock",
                                        "getenv",
                                        "rand",
                                        "srand",
                                        "random_device",
                                        "mt19937",
                                        "time(nullptr)",
                                        "unordered_map",
                                        "unordered_set",
                                        "unordered_multimap",
                                        "std::thread",
                                        "std::jthread",
                                        "sleep_for",
                                        "sleep_until",
                                        "std::fopen",
                                        "std::ifstream",
                                        "std::ofstream",
                                        "thread_local",
                                        "std::mutex"};

// The only standard headers that our own headers include (CONTRIBUTING.md).
const Names kLightHeaders{"algorithm",
                          "array",
                          "atomic",
                          "chrono",
                          "compare",
                          "concepts",
                          "cstring",
                          "cstddef",
                          "cstdint",
                          "deque",
                          "exception",
                          "functional",
                          "initializer_list",
                          "limits",
                          "list",
                          "map",
                          "memory",
                          "mutex",
                          "new",
                          "optional",
                          "set",
                          "shared_mutex",
                          "span",
                          "string",
                          "string_view",
                          "sys/single_threaded.h",
                          "tuple",
                          "type_traits",
                          "unordered_map",
                          "unordered_set",
                          "utility",
                          "variant",
                          "vector",
                          "condition_variable",
                          "bit"};

struct Exception {
  std::string_view path;  // a file, or a folder ending in "/"
  std::string_view what;  // the include or word
  std::string_view reason;
};
// The whole list; an entry that nothing needs any more fails the test.
const std::vector<Exception> kExceptions{
    {"src/kube/text/formats.cpp", "arpa/inet.h", "inet_pton reads addresses; no socket is opened"},
    {"src/embedded/kueue/cycle/quota_tree.hpp", "unordered_map",
     "its cells are found by name and summed as integers: no order reaches what it says"},
    {"src/runtime/engine/model/key_queue.hpp", "memory_resource",
     "what the queue of the start took is given back together"},
};

std::string_view below_src(const Source& source) {
  return std::string_view(source.path).substr(std::string_view("src/").size());
}

const std::vector<Source>& product() {
  static const std::vector<Source> sources = read_sources("src");
  return sources;
}

std::vector<Source> everything() {
  std::vector<Source> all = product();
  for (const std::string_view folder : {"tests", "bench"}) {
    std::vector<Source> more = read_sources(folder);
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}

// Remembers which exceptions were needed.
std::set<const Exception*>& used_exceptions() {
  static std::set<const Exception*> used;
  return used;
}

bool excepted(const Source& source, std::string_view what) {
  for (const Exception& exception : kExceptions) {
    const bool there = exception.path.ends_with('/') ? source.path.starts_with(exception.path)
                                                     : source.path == exception.path;
    if (there && exception.what == what) {
      used_exceptions().insert(&exception);
      return true;
    }
  }
  return false;
}

std::string at(const Source& source, std::size_t line) {
  return source.path + ":" + std::to_string(line) + ": ";
}

// Remembers which permissions were needed: "sqlite3.h for store".
std::set<std::string>& used_permissions() {
  static std::set<std::string> used;
  return used;
}

std::string permission(std::string_view what, std::string_view layer) {
  return std::string(what) + " for " + std::string(layer);
}

// Everything wrong with one include of a product file, or an empty text.
std::string wrong_with(const Source& source, std::string_view layer, const Include& include) {
  const std::string_view target = include.target;
  if (!include.angled) {
    const std::string_view other = layer_of(target);
    if (other.empty()) {
      return "\"" + include.target + "\" belongs to no layer";
    }
    if (other != layer && !layers().find(layer)->second.visible.contains(other)) {
      return "layer " + std::string(layer) + " may not include \"" + include.target + "\"";
    }
    return {};
  }
  if (source.is_header() && !kLightHeaders.contains(target)) {
    return "<" + include.target + "> is too heavy for a header";
  }
  if (source.is_header()) {
    used_permissions().insert(permission(target, "headers"));
  }
  for (const auto& [prefix, users] : kThirdParty) {
    if (target.starts_with(prefix)) {
      if (!users.contains(layer)) {
        return "layer " + std::string(layer) + " may not include <" + include.target + ">";
      }
      used_permissions().insert(permission(prefix, layer));
    }
  }
  for (const std::string_view prefix : kPosix) {
    if (target.starts_with(prefix)) {
      if (!kMayUsePosix.contains(layer)) {
        return "layer " + std::string(layer) + " may not ask the operating system: <" +
               include.target + ">";
      }
      used_permissions().insert(permission("the operating system", layer));
    }
  }
  if (target == "iostream" || target == "regex" || target == "future") {
    return "<" + include.target + "> is not used here";
  }
  return {};
}

std::vector<std::string> wrong_includes(const Source& source) {
  std::vector<std::string> wrong;
  const std::string_view layer = layer_of(below_src(source));
  if (layer.empty()) {
    return {source.path + " lies in no layer"};
  }
  for (const Include& include : source.includes) {
    const std::string text = wrong_with(source, layer, include);
    if (!text.empty() && !excepted(source, include.target)) {
      wrong.push_back(at(source, include.line) + text);
    }
  }
  return wrong;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += "\n  " + line;
  }
  return text;
}

std::vector<std::string> files_with(const std::vector<Source>& sources, std::string_view word,
                                    bool in_comments) {
  std::vector<std::string> found;
  for (const Source& source : sources) {
    const std::size_t line = line_of_word(in_comments ? source.text : source.code, word);
    if (line != 0 && !excepted(source, word)) {
      found.push_back(at(source, line) + std::string(word));
    }
  }
  return found;
}

TEST(Layering, IncludesFollowArrowsAndKeepLibrariesInRooms) {
  std::vector<std::string> wrong;
  for (const Source& source : product()) {
    const auto more = wrong_includes(source);
    wrong.insert(wrong.end(), more.begin(), more.end());
  }
  EXPECT_TRUE(wrong.empty()) << joined(wrong);
  EXPECT_GT(product().size(), 100U) << "the sources were not found";
}

TEST(Layering, TheArrowsHaveNoCycle) {
  ASSERT_GT(layers().size(), 20U) << "CMake's layers were not found";
  for (const auto& [name, layer] : layers()) {
    EXPECT_FALSE(layer.visible.contains(name)) << name;
    for (const std::string& dependency : layer.direct) {
      EXPECT_TRUE(layers().contains(dependency))
          << name << " names the unknown layer " << dependency;
    }
  }
}

TEST(Layering, NoCoroutines) {
  for (const std::string_view word : {"co_await", "co_return", "co_yield"}) {
    const auto found = files_with(product(), word, false);
    EXPECT_TRUE(found.empty()) << joined(found);
  }
}

TEST(Layering, PureRoomsKnowNeitherClockNorChance) {
  std::vector<Source> pure;
  for (const Source& source : product()) {
    if (kPure.contains(layer_of(below_src(source)))) {
      pure.push_back(source);
    }
  }
  ASSERT_FALSE(pure.empty());
  for (const std::string_view word : kImpure) {
    const auto found = files_with(pure, word, false);
    EXPECT_TRUE(found.empty()) << joined(found);
  }
}

// What a file is for is said once: in its header when it has one.
TEST(Layering, FilesBeginWithLicenceAndPurpose) {
  std::set<std::string> headers;
  for (const Source& source : everything()) {
    if (source.is_header()) {
      headers.insert(source.path);
    }
  }
  std::vector<std::string> wrong;
  for (const Source& source : everything()) {
    constexpr std::string_view kLicence = "// SPDX-License-Identifier: Apache-2.0\n";
    std::string header = source.path;
    header.replace(header.size() - 4, 4, ".hpp");
    const bool said_elsewhere =
        source.path.ends_with("_test.cpp") || (!source.is_header() && headers.contains(header));
    const std::string_view text = source.text;
    if (!text.starts_with(kLicence)) {
      wrong.push_back(source.path + " does not begin with the licence");
    } else if (!said_elsewhere && !text.substr(kLicence.size()).starts_with("// ")) {
      wrong.push_back(source.path + " does not say what it is for");
    }
  }
  EXPECT_TRUE(wrong.empty()) << joined(wrong);
}

TEST(Layering, HeadersGuardThemselves) {
  for (const Source& source : everything()) {
    if (source.is_header()) {
      EXPECT_NE(line_of_word(source.text, "#pragma once"), 0U) << source.path;
    }
  }
}

TEST(Layering, NoFileIsLongerThan800Lines) {
  for (const Source& source : everything()) {
    EXPECT_LE(source.lines, 800U) << source.path;
  }
}

TEST(Layering, NothingIsLeftToDo) {
  for (const std::string_view word : {"TODO", "FIXME", "XXX"}) {
    std::vector<std::string> found = files_with(product(), word, true);
    EXPECT_TRUE(found.empty()) << joined(found);
  }
}

TEST(Layering, NoneOfTheWordsThisHouseDoesWithout) {
  for (const std::string_view word : {"using namespace std;", "goto", "malloc(", "setjmp"}) {
    const auto found = files_with(product(), word, false);
    EXPECT_TRUE(found.empty()) << joined(found);
  }
}

TEST(Layering, EveryNolintNamesItsCheck) {
  for (const Source& source : everything()) {
    if (source.path.starts_with("tests/layering/")) {
      continue;
    }
    for (std::size_t at = source.text.find("NOLINT"); at != std::string::npos;
         at = source.text.find("NOLINT", at + 1)) {
      const std::size_t end = source.text.find('\n', at);
      const std::string_view rest = std::string_view(source.text).substr(at, end - at);
      EXPECT_NE(rest.find('('), std::string_view::npos) << source.path << ": " << rest;
    }
  }
}

TEST(Layering, EveryExceptionIsStillNeeded) {
  for (const Source& source : product()) {
    wrong_includes(source);
  }
  for (const std::string_view word : kImpure) {
    files_with(product(), word, false);
  }
  for (const Exception& exception : kExceptions) {
    EXPECT_TRUE(used_exceptions().contains(&exception)) << exception.path << " " << exception.what;
  }
}

TEST(Layering, EveryPermissionIsStillNeeded) {
  for (const Source& source : product()) {
    wrong_includes(source);
  }
  std::set<std::string> given;
  for (const auto& [prefix, users] : kThirdParty) {
    for (const std::string_view layer : users) {
      given.insert(permission(prefix, layer));
    }
  }
  for (const std::string_view layer : kMayUsePosix) {
    given.insert(permission("the operating system", layer));
  }
  for (const std::string_view header : kLightHeaders) {
    given.insert(permission(header, "headers"));
  }
  std::vector<std::string> unused;
  std::ranges::set_difference(given, used_permissions(), std::back_inserter(unused));
  EXPECT_TRUE(unused.empty()) << "given and not needed:" << joined(unused);
}

// Manifests are files below a folder `data`, which CMake embeds (athanor_embed_text).
TEST(Layering, ManifestsAreFilesNotLiterals) {
  std::vector<std::string> found;
  for (const Source& source : product()) {
    for (const std::string_view start : {"\napiVersion: ", "(apiVersion: "}) {
      if (const std::size_t place = source.text.find(start); place != std::string::npos) {
        const std::string before = source.text.substr(0, place + 1);
        const auto line = std::count(before.begin(), before.end(), '\n');
        found.push_back(at(source, static_cast<std::size_t>(line) + 1) + "a manifest");
      }
    }
  }
  EXPECT_TRUE(found.empty()) << joined(found);
}

// The checks themselves, on text that breaks the rules.
TEST(LayeringChecks, SeeAWrongArrow) {
  Source source{.path = "src/systems/fournos/x.cpp"};
  source.includes = {
      {"runtime/engine/engine.hpp", false, 3}, {"sqlite3.h", true, 4}, {"unistd.h", true, 5}};
  EXPECT_EQ(wrong_includes(source).size(), 3U);
  source.includes = {{"runtime/view/view.hpp", false, 3}, {"fmt/core.h", true, 4}};
  EXPECT_TRUE(wrong_includes(source).empty());
}

TEST(LayeringChecks, TellCodeFromCommentsAndLiterals) {
  const std::string code = blank_comments_and_literals(
      "int a = 1'000; // co_await\nauto s = \"co_await\"; /* rand */ char c = '\"'; rand();\n"
      "auto r = R\"x(goto)x\";");
  EXPECT_EQ(line_of_word(code, "co_await"), 0U);
  EXPECT_EQ(line_of_word(code, "rand"), 2U);
  EXPECT_EQ(line_of_word(code, "goto"), 0U);
  EXPECT_EQ(line_of_word("operand", "rand"), 0U);
}

}  // namespace
}  // namespace athanor::layering
