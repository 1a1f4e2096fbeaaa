// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/model/remote_definitions.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/ascii.hpp"
#include "base/digest.hpp"
#include "embedded/tekton/model/conversion.hpp"
#include "embedded/tekton/model/text.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::tekton {
namespace {

constexpr Duration kMostAge = std::chrono::minutes(10);
constexpr std::string_view kHttp = "http";
constexpr std::string_view kHub = "hub";
constexpr std::string_view kGit = "git";
constexpr std::string_view kBundles = "bundles";

std::string param_of(const Value& ref, std::string_view name) {
  return named(ref["params"], name)["value"].str();
}

// Characters of a name in a path; everything else would be another place.
bool is_path_word(std::string_view text) {
  return !text.empty() && text != "." && text != ".." &&
         text.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") ==
             std::string_view::npos;
}

Result<std::string> http_url(const Value& ref) {
  for (const Value& param : ref["params"].items()) {
    const std::string_view name = param["name"].as_string();
    if (name.starts_with("http-")) {
      return Error::bad_request("resolver http: param " + std::string(name) +
                                " is not supported by the embedded engine, which sends no "
                                "credentials");
    }
  }
  ATHANOR_TRY_VOID(check_params(ref, {"url"}));
  std::string url = param_of(ref, "url");
  if (url.empty()) {
    return Error::bad_request("missing required http resolver params: url");
  }
  if (!url.starts_with("https://") && !url.starts_with("http://")) {
    return Error::bad_request("url " + url + " is not a valid http(s) url");
  }
  return url;
}

// Returns the kind of hub that a reference means: "artifact" (Artifact Hub), which is Tekton's
// default, or "tekton" (Tekton Hub).
std::string hub_type(const Value& ref) {
  std::string type = param_of(ref, "type");
  return type.empty() ? "artifact" : type;
}

// Returns a version as the hub writes it: Artifact Hub `0.1.0`, Tekton Hub `0.1`.
std::string hub_version(const std::string& type, std::string version) {
  const auto dots = std::ranges::count(version, '.');
  const bool plain = version.find_first_not_of("0123456789.") == std::string::npos;
  if (type == "artifact" && plain && dots == 1) {
    version += ".0";
  } else if (type == "tekton" && plain && dots == 2 && version.ends_with(".0")) {
    version.resize(version.size() - 2);
  }
  return version;
}

// Returns the address of a resource on Artifact Hub, on Tekton's hub, or on a mirror of one.
Result<std::string> hub_url(const View& view, const Kind& kind, const Value& ref) {
  std::string base = view.config("tekton")["run"]["hubURL"].str();
  if (base.empty()) {
    return Error::bad_request(
        "resolver type \"hub\" needs the address of a hub: set TEKTON_HUB_URL");
  }
  ATHANOR_TRY_VOID(check_params(ref, {"catalog", "kind", "name", "type", "version"}));
  ATHANOR_TRY_VOID(check_kind_param(kind, ref));
  const std::string type = hub_type(ref);
  if (type != "tekton" && type != "artifact") {
    return Error::bad_request("type must be either 'artifact' or 'tekton', not " + quoted(type));
  }
  const std::string singular = lower(kind.name);
  std::string catalog = param_of(ref, "catalog");
  if (catalog.empty() && (type == "tekton" || singular != "stepaction")) {
    catalog = type == "tekton" ? "tekton" : "tekton-catalog-" + singular + "s";
  }
  const std::string name = param_of(ref, "name");
  const std::string version = hub_version(type, param_of(ref, "version"));
  using Given = std::pair<std::string_view, std::string_view>;
  for (const auto& [param, text] :
       {Given{"catalog", catalog}, Given{"name", name}, Given{"version", version}}) {
    if (!is_path_word(text)) {
      return Error::bad_request("resolver hub: param " + std::string(param) + " is " +
                                (text.empty() ? "required" : "not a name: " + quoted(text)));
    }
  }
  base.erase(base.find_last_not_of('/') + 1);
  if (type == "artifact") {
    return base + "/api/v1/packages/tekton-" + singular + "/" + catalog + "/" + name + "/" +
           version;
  }
  return base + "/v1/resource/" + catalog + "/" + singular + "/" + name + "/" + version + "/yaml";
}

// Returns the address of the server that has the repositories of `org`: serverURL, or the public
// server of scmType. Requires one of them.
Result<std::string> server_of(const Value& ref) {
  using Public = std::pair<std::string_view, std::string_view>;
  constexpr std::array<Public, 4> kPublic = {
      Public{"github", "https://github.com"}, Public{"gitlab", "https://gitlab.com"},
      Public{"bitbucketcloud", "https://bitbucket.org"}, Public{"gitea", ""}};
  std::string type = param_of(ref, "scmType");
  type = type.empty() ? "github" : type;
  const auto found = std::ranges::find(kPublic, type, &Public::first);
  if (found == kPublic.end()) {
    return Error::bad_request("resolver git: scmType " + quoted(type) +
                              " is not supported by the embedded engine with org and repo: give "
                              "the address of the repository as url");
  }
  std::string server = param_of(ref, "serverURL");
  server.erase(server.find_last_not_of('/') + 1);
  if (server.empty()) {
    server = found->second;
  }
  if (!server.starts_with("https://") && !server.starts_with("http://")) {
    return Error::bad_request("resolver git: param serverURL of scmType " + quoted(type) + " is " +
                              (server.empty() ? "required" : "no http(s) url: " + quoted(server)));
  }
  return server;
}

// Returns the address of a repository: `url`, or the one that `org` and `repo` have on their server
// (docs/tekton.md, Differences).
Result<std::string> repository_of(const Value& ref) {
  std::string url = param_of(ref, "url");
  std::string repo = param_of(ref, "repo");
  const std::string org = param_of(ref, "org");
  if (!url.empty() && !repo.empty()) {
    return Error::bad_request("cannot specify both 'url' and 'repo'");
  }
  if (repo.empty()) {
    for (const std::string_view param : {"org", "serverURL", "scmType", "token", "tokenKey"}) {
      if (!param_of(ref, param).empty()) {
        return Error::bad_request("resolver git: param " + std::string(param) +
                                  " needs param repo; with url, a token is named by gitToken and "
                                  "gitTokenKey");
      }
    }
    return url;
  }
  if (!param_of(ref, "gitToken").empty() || !param_of(ref, "gitTokenKey").empty()) {
    return Error::bad_request(
        "resolver git: with org and repo, a token is named by token and "
        "tokenKey, not by gitToken and gitTokenKey");
  }
  if (org.empty()) {
    return Error::bad_request("'org' is required when 'repo' is specified");
  }
  for (std::string_view rest = org; !rest.empty();) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    if (!is_path_word(rest.substr(0, slash)) || slash + 1 == rest.size()) {
      return Error::bad_request("resolver git: param org is not a name: " + quoted(org));
    }
    rest.remove_prefix(std::min(slash + 1, rest.size()));
  }
  if (!is_path_word(repo)) {
    return Error::bad_request("resolver git: param repo is not a name: " + quoted(repo));
  }
  ATHANOR_TRY(const std::string server, server_of(ref));
  return server + "/" + org + "/" + repo + (repo.ends_with(".git") ? "" : ".git");
}

// Returns the question at a repository. A token is named, never part of the question, which others
// may see.
Result<Value> git_question(const View& view, const Value& ref, std::string_view ns) {
  constexpr std::array<std::string_view, 12> kParams = {
      "url",  "revision", "pathInRepo", "gitToken",  "gitTokenKey", "org",
      "repo", "token",    "tokenKey",   "serverURL", "scmType",     "cache"};
  for (const Value& param : ref["params"].items()) {
    const std::string_view name = param["name"].as_string();
    if (std::ranges::find(kParams, name) == kParams.end()) {
      return Error::bad_request("resolver git: param " + std::string(name) +
                                " is not supported by the embedded engine, which reads "
                                "repositories by url, or by org and repo");
    }
  }
  Value question = Value::object();
  ATHANOR_TRY(const std::string url, repository_of(ref));
  const std::string path = param_of(ref, "pathInRepo");
  for (const auto& [param, text] : {std::pair{"url", &url}, std::pair{"pathInRepo", &path}}) {
    if (text->empty()) {
      return Error::bad_request("missing required git resolver params: " + std::string(param));
    }
  }
  question.set("url", url);
  question.set("path", path);
  if (url.starts_with('/') || url.starts_with("file://")) {
    const Value& folder = view.config("tekton")["run"]["gitFolder"];
    if (folder.as_string().empty()) {
      return Error::bad_request(
          "resolver git: url " + quoted(url) +
          " is a repository of the lab's machine, which needs a folder of them: set "
          "TEKTON_GIT_FOLDER");
    }
    question.set("folder", folder);
  }
  const std::string revision = param_of(ref, "revision");
  question.set("revision", revision.empty() ? "main" : revision);
  const bool by_name = !param_of(ref, "repo").empty();
  if (const std::string secret = param_of(ref, by_name ? "token" : "gitToken"); !secret.empty()) {
    const std::string key = param_of(ref, by_name ? "tokenKey" : "gitTokenKey");
    question.set(
        "secret",
        Value::object({{"namespace", ns}, {"name", secret}, {"key", key.empty() ? "token" : key}}));
  }
  return question;
}

// Returns the question at the folder of bundles. Errors: the folder is not set; a param is missing
// or unknown.
Result<Value> bundle_question(const View& view, const Value& ref) {
  Value question = Value::object();
  question.set("folder", view.config("tekton")["run"]["bundles"].str());
  if (question["folder"].as_string().empty()) {
    return Error::bad_request(
        "resolver type \"bundles\" needs a folder of OCI layouts: set TEKTON_BUNDLES");
  }
  ATHANOR_TRY_VOID(
      check_params(ref, {"bundle", "name", "kind", "serviceAccount", "secret", "cache"}));
  for (const std::string_view param : {"bundle", "name"}) {
    const std::string text = param_of(ref, param);
    if (text.empty()) {
      return Error::bad_request("parameter " + quoted(param) + " required");
    }
    question.set(param, text);
  }
  const std::string kind = param_of(ref, "kind");
  question.set("kind", kind.empty() ? "task" : kind);
  return question;
}

// Returns the text of the definition in the answer of a hub of this type.
Result<std::string> hub_text(const std::string& type, const std::string& answer) {
  const std::string_view field = type == "artifact" ? "manifestRaw" : "yaml";
  const auto parsed = json::parse(answer);
  std::string text = parsed ? (*parsed)["data"][field].str() : std::string();
  if (text.empty()) {
    return Error::bad_request("the hub's answer holds no data." + std::string(field));
  }
  return text;
}

Result<Object> read_definition(const Kind& kind, const std::string& text) {
  auto document = yaml::parse(text);
  if (!document || !document->is_object()) {
    return Error::bad_request("what was fetched is no YAML object");
  }
  const std::string_view version = (*document)["apiVersion"].as_string();
  if ((*document)["kind"].as_string() != kind.name || !version.starts_with("tekton.dev/") ||
      (*document)["metadata"]["name"].as_string().empty() || !(*document)["spec"].is_object()) {
    return Error::bad_request("what was fetched is no " + std::string(kind.name) +
                              " of tekton.dev");
  }
  ATHANOR_TRY(Value object,
              convert(*document, std::string(kind.group) + "/" + std::string(kind.version)));
  return Object(std::move(object));
}

// The question of a resolver.
struct Question {
  std::string query{};
  std::string place{};  // that it asks
};

Result<Question> question_of(const View& view, const Kind& kind, const Value& ref,
                             std::string_view ns) {
  const std::string_view resolver = ref["resolver"].as_string();
  if (resolver == kGit) {
    ATHANOR_TRY(const Value question, git_question(view, ref, ns));
    return Question{.query = "git:" + json::print(question), .place = question["url"].str()};
  }
  if (resolver == kBundles) {
    ATHANOR_TRY(const Value question, bundle_question(view, ref));
    return Question{.query = "bundle:" + json::print(question), .place = question["bundle"].str()};
  }
  ATHANOR_TRY(const std::string url, resolver == kHub ? hub_url(view, kind, ref) : http_url(ref));
  return Question{.query = "definition:" + json::print(Value::object({{"url", url}})),
                  .place = url};
}

// Returns where the answer came from, as provenance names it.
Value source_of(const Value& ref, const Question& question, const Value& answer) {
  const std::string_view resolver = ref["resolver"].as_string();
  const auto source = [](const std::string& uri, std::string_view kind, const std::string& digest) {
    return Value::object({{"uri", uri}, {"digest", Value::object({{kind, digest}})}});
  };
  if (resolver == kGit) {
    Value found = source("git+" + question.place, "sha1", answer["commit"].str());
    found.set("entryPoint", param_of(ref, "pathInRepo"));
    return found;
  }
  if (resolver == kBundles) {
    Value found = source(answer["uri"].str(), "sha256", answer["digest"].str());
    found.set("entryPoint", param_of(ref, "name"));
    return found;
  }
  return source(question.place, "sha256", sha256_hex(answer["text"].as_string()));
}

}  // namespace

Result<void> check_params(const Value& ref, std::initializer_list<std::string_view> known) {
  for (const Value& param : ref["params"].items()) {
    const std::string_view name = param["name"].as_string();
    if (std::ranges::find(known, name) == known.end()) {
      return Error::bad_request("resolver " + ref["resolver"].str() + ": param " +
                                std::string(name) + " is not supported by the embedded engine");
    }
  }
  return {};
}

Result<void> check_kind_param(const Kind& kind, const Value& ref) {
  constexpr std::array<std::string_view, 3> kKinds = {"task", "pipeline", "stepaction"};
  const std::string given = param_of(ref, "kind");
  const std::string wanted = lower(kind.name);
  if (given.empty() || lower(given) == wanted) {
    return {};
  }
  return Error::bad_request(std::ranges::find(kKinds, lower(given)) == kKinds.end()
                                ? "unknown or unsupported resource kind '" + given + "'"
                                : "param kind of resolver " + ref["resolver"].str() + " is " +
                                      quoted(given) + ", a " + wanted + " is needed here");
}

bool is_awaited(const Error& error) {
  return error.reason == kAwaited;
}

bool is_remote_resolver(std::string_view resolver) {
  return resolver == kHttp || resolver == kHub || resolver == kGit || resolver == kBundles;
}

Result<Definition> fetch_definition(const View& view, const Kind& kind, const Value& ref,
                                    std::string_view ns) {
  const std::string_view resolver = ref["resolver"].as_string();
  ATHANOR_TRY(const Question question, question_of(view, kind, ref, ns));
  const Observed seen = view.observe(question.query, kMostAge);
  if (seen.error) {
    return Error::bad_request("error requesting remote resource: " + seen.error->message);
  }
  if (!seen.value) {
    return Error{
        .code = 503, .reason = std::string(kAwaited), .message = "awaiting " + question.place};
  }
  std::string text = (*seen.value)["text"].str();
  Value source = source_of(ref, question, *seen.value);
  if (resolver == kHub) {
    ATHANOR_TRY(text, hub_text(hub_type(ref), text));
  }
  ATHANOR_TRY(Object object, read_definition(kind, text));
  return Definition{.object = std::move(object), .source = std::move(source)};
}

}  // namespace athanor::tekton
