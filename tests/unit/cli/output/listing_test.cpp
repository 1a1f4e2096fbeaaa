// SPDX-License-Identifier: Apache-2.0
// Filters, order and formats of lists.
#include "cli/output/listing.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/output/formats.hpp"
#include "kube/text/yaml.hpp"
#include "runtime/view/usage.hpp"
#include "views/listing.hpp"

namespace athanor::cli::listing_test {
namespace {

const Instant kNow = *parse_time("2026-01-03T00:00:00Z");

Object job(const std::string& name, const std::string& phase, const std::string& created,
           int gpus = 1) {
  return Object(
      *yaml::parse("{apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: " + name +
                   ", namespace: ns, labels: {team: " + (gpus > 1 ? "big" : "small") +
                   "}, creationTimestamp: \"" + created +
                   "\", managedFields: [{manager: m}]}, spec: {owner: ann, hardware: "
                   "{gpuCount: " +
                   std::to_string(gpus) + "}}, status: {phase: " + phase + "}}"));
}

views::Listing three() {
  views::Listing listing{.titles = {"NAME", "GPUS", "AGE"}};
  const auto add = [&](const Object& object, const char* gpus, const char* age) {
    listing.rows.push_back({.object = object,
                            .cells = {std::string(object.name()), gpus, age},
                            .traits = {.phase = object.status()["phase"].str(), .owner = "ann"}});
  };
  add(job("b", "Failed", "2026-01-01T00:00:00Z", 8), "8", "2d");
  add(job("c", "Running", "2026-01-02T22:00:00Z", 16), "16", "2h");
  add(job("a", "Failed", "2026-01-02T12:00:00Z"), "-", "12h");
  return listing;
}

// Names in order, or the error.
std::string shown(ListOptions options) {
  const auto filter = ListFilter::parse(options, {"Running", "Failed", "Pending"}, kNow);
  if (!filter.ok()) {
    EXPECT_EQ(filter.error().reason, kWrongUsage);
    return filter.error().message;
  }
  views::Listing listing = three();
  if (const auto done = arrange(listing, *filter, options); !done.ok()) {
    EXPECT_EQ(done.error().reason, kWrongUsage);
    return done.error().message;
  }
  std::string names;
  for (const views::ListRow& row : listing.rows) {
    names += row.object.name();
  }
  return names;
}

TEST(Listing, FiltersByEachFlag) {
  EXPECT_EQ(shown({}), "bca");
  EXPECT_EQ(shown({.labels = "team=big"}), "bc");
  EXPECT_EQ(shown({.labels = "team notin (big)"}), "a");
  EXPECT_EQ(shown({.fields = "status.phase=Failed,metadata.name!=a"}), "b");
  EXPECT_EQ(shown({.phases = {"failed"}}), "ba");
  EXPECT_EQ(shown({.phases = {"Failed", "Running"}}), "bca");
  EXPECT_EQ(shown({.owners = {"bob"}}), "");
  EXPECT_EQ(shown({.since = "1d"}), "ca");
  EXPECT_EQ(shown({.since = "3h"}), "c");
  EXPECT_EQ(shown({.since = "2026-01-02T12:00:00Z"}), "ca");
  EXPECT_EQ(shown({.names = {"a", "b"}}), "ba");
}

TEST(Listing, SortsByColumnAndByPath) {
  EXPECT_EQ(shown({.sort_by = "name"}), "abc");
  EXPECT_EQ(shown({.sort_by = "GPUS"}), "abc") << "absent first, then by number";
  EXPECT_EQ(shown({.sort_by = "age"}), "cab");
  EXPECT_EQ(shown({.sort_by = ".metadata.creationTimestamp"}), "bac");
  EXPECT_EQ(shown({.sort_by = "{.spec.hardware.gpuCount}"}), "abc");
  EXPECT_EQ(shown({.limit = 2, .sort_by = "name"}), "ab");
}

TEST(Lengths, AreReadWithinBounds) {
  EXPECT_EQ(parse_length("1d2h"), std::chrono::hours(26));
  EXPECT_EQ(parse_length("36500d"), std::chrono::hours(24) * 36'500);
  for (const char* text : {"", "d", "36500d1s", "36501d", "9223372036854775807d", "-1h", "876001h",
                           "2026-01-01T00:00:00Z"}) {
    EXPECT_EQ(parse_length(text), std::nullopt) << text;
  }
}

TEST(Listing, RefusesWrongValuesWithTheirPlace) {
  EXPECT_EQ(shown({.phases = {"Faild"}}),
            "--phase Faild: unknown; known are Running, Failed, Pending, did you mean Failed?");
  EXPECT_NE(shown({.labels = "a in b"}).find("--selector a in b: "), std::string::npos);
  EXPECT_NE(shown({.fields = "a"}).find("--field-selector a: "), std::string::npos);
  EXPECT_NE(shown({.since = "soon"}).find("--since soon: neither"), std::string::npos);
  EXPECT_NE(shown({.since = "2147483647d"}).find("--since 2147483647d: neither"),
            std::string::npos);
  EXPECT_EQ(shown({.sort_by = "size"}),
            "--sort-by size: neither a column (name, gpus, age) nor a path such as "
            ".metadata.creationTimestamp");
  EXPECT_NE(shown({.sort_by = ".a["}).find("--sort-by .a[: "), std::string::npos);
  EXPECT_FALSE(check_watch({.limit = 1, .watch = true}).ok());
  EXPECT_FALSE(check_watch({.sort_by = "name", .watch = true}).ok());
  EXPECT_TRUE(check_watch({.watch = true}).ok());
}

TEST(Listing, ShowsSingleNameWithItsParts) {
  EXPECT_TRUE(shows_one({.names = {"a"}}));
  EXPECT_FALSE(shows_one({}));
  EXPECT_FALSE(shows_one({.names = {"a", "b"}}));
  EXPECT_FALSE(shows_one({.names = {"a"}, .phases = {"Failed"}}));
  EXPECT_FALSE(shows_one({.names = {"a"}, .owners = {"ann"}}));
  EXPECT_FALSE(shows_one({.names = {"a"}, .limit = 1}));
  EXPECT_FALSE(shows_one({.names = {"a"}, .no_headers = true}));
  EXPECT_FALSE(shows_one({.names = {"a"}, .format = {.output = Output::Json}}));
}

TEST(Listing, NamesAbsentObjects) {
  const auto filter = ListFilter::parse({.names = {"a", "x"}}, {}, kNow);
  EXPECT_EQ(filter->missing({job("a", "Failed", "2026-01-01T00:00:00Z")}),
            std::vector<std::string>{"x"});
}

std::string printed(const std::string& format, bool no_headers = false) {
  const auto parsed = parse_format(format, list_formats());
  if (!parsed.ok()) {
    return parsed.error().message;
  }
  const auto text = print_listing(three(), {.no_headers = no_headers, .format = *parsed}, 0);
  return text.ok() ? *text : text.error().message;
}

TEST(Listing, PrintsEveryFormat) {
  EXPECT_EQ(printed("table"),
            "NAME   GPUS   AGE\nb      8      2d\nc      16     2h\na      -      12h\n");
  EXPECT_EQ(printed("table", true), "b   8    2d\nc   16   2h\na   -    12h\n");
  EXPECT_EQ(printed("name"),
            "fournosjob.fournos.dev/b\nfournosjob.fournos.dev/c\nfournosjob.fournos.dev/a\n");
  EXPECT_EQ(printed("jsonpath={.items[*].metadata.name}"), "b c a\n");
  EXPECT_EQ(printed("jsonpath={range .items[*]}{.metadata.name}={.status.phase}{\"\\n\"}{end}"),
            "b=Failed\nc=Running\na=Failed\n\n");
  EXPECT_EQ(printed("jsonpath={.items[?(@.status.phase==\"Running\")].metadata.name}"), "c\n");
  EXPECT_EQ(printed("custom-columns=N:.metadata.name,X:.spec.x"),
            "N   X\nb   <none>\nc   <none>\na   <none>\n");
  EXPECT_EQ(printed("custom-columns=N:.metadata.name", true), "b\nc\na\n");
  EXPECT_EQ(printed("go-template={{range .items}}{{.metadata.name}} {{end}}"), "b c a ");
  EXPECT_EQ(printed("json").find("managedFields"), std::string::npos);
  EXPECT_NE(printed("yaml").find("kind: List"), std::string::npos);
}

TEST(Listing, IsDataForAConsole) {
  const Value value = three().to_value();
  EXPECT_EQ(value["columns"].size(), 3U);
  EXPECT_EQ(value["rows"][1]["cells"]["GPUS"].as_string(), "16");
  EXPECT_EQ(value["rows"][1]["object"]["metadata"]["name"].as_string(), "c");
}

}  // namespace
}  // namespace athanor::cli::listing_test
