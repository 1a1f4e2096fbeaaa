// SPDX-License-Identifier: Apache-2.0
// Go templates as kubectl's users write them.
#include "cli/output/go_template.hpp"

#include <gtest/gtest.h>

#include <string>

#include "kube/text/yaml.hpp"
#include "runtime/view/usage.hpp"

namespace athanor::cli::go_template_test {
namespace {

std::string rendered(const std::string& text) {
  const auto parsed = GoTemplate::parse(text);
  if (!parsed.ok()) {
    EXPECT_EQ(parsed.error().reason, kWrongUsage);
    return parsed.error().message;
  }
  const Value data = *yaml::parse(
      "{kind: List, secret: aGVsbG8=, items: [{name: a, n: 1, tags: {x: \"1\", z: \"2\"}}, {name: "
      "b, n: 20, flag: true}]}");
  const auto out = parsed->render(data);
  return out.ok() ? *out : out.error().message;
}

TEST(GoTemplates, RenderLikeGo) {
  EXPECT_EQ(rendered("plain {{.kind}}!"), "plain List!");
  EXPECT_EQ(rendered("{{.none}}"), "<no value>");
  EXPECT_EQ(rendered("{{range .items}}{{.name}},{{end}}"), "a,b,");
  EXPECT_EQ(rendered("{{range $i, $x := .items}}{{$i}}={{$x.name}} {{end}}"), "0=a 1=b ");
  EXPECT_EQ(rendered("{{range .none}}x{{else}}nothing{{end}}"), "nothing");
  EXPECT_EQ(rendered("{{range .items}}{{if .flag}}yes{{else}}no{{end}} {{end}}"), "no yes ");
  EXPECT_EQ(rendered("{{if eq .kind \"Pod\"}}p{{else if eq .kind \"List\"}}l{{end}}"), "l");
  EXPECT_EQ(rendered("{{with index .items 1}}{{.name}}{{end}}"), "b");
  EXPECT_EQ(rendered("{{$k := .kind}}{{range .items}}{{$k}}{{end}}"), "ListList");
  EXPECT_EQ(rendered("{{range .items}}{{$.kind}}{{end}}"), "ListList");
  EXPECT_EQ(rendered("{{len .items}} {{.secret | base64decode}}"), "2 hello");
  EXPECT_EQ(rendered("{{printf \"%s-%03d|%-4s|%q\" .kind 7 \"x\" \"y\"}}"), "List-  7|x   |\"y\"");
  EXPECT_EQ(rendered("{{(index .items 0).tags}}"), "map[x:1 z:2]");
  EXPECT_EQ(rendered("a {{- .kind -}} b"), "aListb");
  EXPECT_EQ(rendered("{{/* nothing */}}x"), "x");
  EXPECT_EQ(rendered("{{index .items 0 \"tags\" \"z\"}}{{\"\\n\"}}"), "2\n");
  EXPECT_EQ(rendered("{{and .kind (not .none)}} {{or .none \"d\"}} {{gt 2 1}}"), "true d true");
}

TEST(GoTemplates, NameTheActionThatIsWrong) {
  EXPECT_EQ(rendered("{{.a"), "go-template: {{.a}}: \"}}\" is missing");
  EXPECT_EQ(rendered("{{range .items}}x"), "go-template: {{range .items}}: {{end}} is missing");
  EXPECT_EQ(rendered("{{end}}"), "go-template: {{end}}: nothing is open that it could end");
  EXPECT_EQ(rendered("{{upper .a}}"),
            "go-template: {{upper .a}}: function \"upper\" is not defined");
  EXPECT_EQ(rendered("{{.a .b}}"), "go-template: {{.a .b}}: a value takes no arguments");
  EXPECT_EQ(rendered("{{$x}}"), "go-template: {{$x}}: undefined variable \"$x\"");
  EXPECT_EQ(rendered("{{printf \"%x\" 1}}"),
            "go-template: {{printf \"%x\" 1}}: printf takes %s, %v, %d, %f, %q and %%");
  EXPECT_EQ(rendered("{{index .items 7}}"),
            "go-template: {{index .items 7}}: index 7 is out of range");
  EXPECT_EQ(rendered("{{}}"), "go-template: {{}}: a value is missing");
}

}  // namespace
}  // namespace athanor::cli::go_template_test
