// SPDX-License-Identifier: Apache-2.0
// A page that fails shows its error and leaves the navigation usable.
import { Component, type ComponentChildren } from "preact";

export class Boundary extends Component<{ children: ComponentChildren }, { error?: Error }> {
  override state: { error?: Error } = {};
  static override getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }
  override render(): ComponentChildren {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <div class="empty" role="alert" data-testid="page-error">
        <p class="empty-title">This page failed: {error.message}</p>
        <p>The other pages work. The answer of the console had an unexpected form, or this is a mistake of the page.</p>
        <button type="button" onClick={() => this.setState({ error: undefined as unknown as Error })}>
          Try again
        </button>
      </div>
    );
  }
}
