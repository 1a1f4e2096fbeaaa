// SPDX-License-Identifier: Apache-2.0
// Starts the console in the page.
import { render } from "preact";
import { App } from "./app";
import { listenToKeys } from "./core/keys";
import { followLinks } from "./core/router";
import "./style/tokens.css";
import "./style/base.css";
import "./style/table.css";
import "./style/charts.css";
import "./style/logs.css";
import "./style/pages.css";

followLinks();
listenToKeys();
render(<App />, document.getElementById("app")!);
