import Foundation
import NetKit
import Peers
import WebSocketStream

/// A page of a browser, controlled by the DevTools protocol.
final class BrowserPage {
    /// A call that the browser refused, an exception in the page, or a connection that has ended.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The id of the page, which developer tools attach to.
    let id: String
    private let socket: WebSocket
    private var messages: WebSocket.Messages.AsyncIterator
    private var calls = 0
    private var events: [(method: String, parameters: [String: Any])] = []

    /// Opens a page of a browser, which is empty at first.
    init(_ browser: Chromium) async throws {
        let new = try HTTPRequest(method: .put, url: URL(string: browser.url("/json/new?about:blank"))!)
        let response = try await HTTPSession().load(new)
        let facts = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
        guard let id = facts?["id"] as? String, let address = facts?["webSocketDebuggerUrl"] as? String,
            let url = URL(string: address)
        else { throw Failure(description: "no page: \(response.text ?? "")") }
        self.id = id
        var configuration = WebSocket.Configuration()
        configuration.keepAlive = nil  // a busy browser does not answer in time
        socket = try await WebSocket.connect(url, configuration: configuration)
        messages = socket.messages.makeAsyncIterator()
        for domain in ["Page", "Runtime", "Log", "Network"] { try await call("\(domain).enable") }
    }

    /// Loads a URL, and returns after the page's `load` event.
    func open(_ url: String) async throws {
        try await call("Page.navigate", ["url": url])
        _ = try await event("Page.loadEventFired")
    }

    /// Calls a method and returns its result.
    @discardableResult
    func call(_ method: String, _ parameters: [String: Any] = [:]) async throws -> [String: Any] {
        calls += 1
        let call: [String: Any] = ["id": calls, "method": method, "params": parameters]
        let text = String(decoding: try JSONSerialization.data(withJSONObject: call), as: UTF8.self)
        try await socket.send(.text(text))
        while true {
            let message = try await next()
            guard message["id"] as? Int == calls else { continue }
            if let result = message["result"] as? [String: Any] { return result }
            throw Failure(description: "\(method): \(message)")
        }
    }

    /// The parameters of the first event of a kind since the last call of this method for it.
    func event(_ method: String) async throws -> [String: Any] {
        while true {
            if let index = events.firstIndex(where: { $0.method == method }) {
                return events.remove(at: index).parameters
            }
            _ = try await next()
        }
    }

    /// The parameters of all events of a kind so far.
    func events(_ method: String) -> [[String: Any]] {
        events.filter { $0.method == method }.map(\.parameters)
    }

    /// The value of a JavaScript expression; a promise is awaited.
    func value(_ expression: String) async throws -> Any? {
        let answer = try await call(
            "Runtime.evaluate", ["expression": expression, "awaitPromise": true, "returnByValue": true])
        if let exception = answer["exceptionDetails"] { throw Failure(description: "\(expression): \(exception)") }
        return (answer["result"] as? [String: Any])?["value"]
    }

    /// The texts that a JavaScript expression makes of each element of a selector, in the order of the document.
    func texts(_ selector: String, _ expression: String = "e.textContent.trim()") async throws -> [String] {
        try await value("[...document.querySelectorAll('\(selector)')].map(e => \(expression))") as? [String] ?? []
    }

    /// Waits until a JavaScript expression has a value other than null. `all(SELECTOR)` in it are the elements that match, also
    /// within shadow trees.
    func wait(for expression: String) async throws -> Any? {
        try await value(
            """
            new Promise(found => {
                const trees = root => [root, ...[...root.querySelectorAll('*')].flatMap(e => e.shadowRoot ? trees(e.shadowRoot) : [])];
                const all = selector => trees(document).flatMap(tree => [...tree.querySelectorAll(selector)]);
                const look = () => { const value = \(expression); value == null ? requestAnimationFrame(look) : found(value) };
                look();
            })
            """)
    }

    /// A picture of the page.
    func screenshot() async throws -> Data {
        let answer = try await call("Page.captureScreenshot", ["format": "png"])
        return Data(base64Encoded: answer["data"] as? String ?? "") ?? Data()
    }

    /// The next message; an event is kept.
    private func next() async throws -> [String: Any] {
        guard let text = try await messages.next()?.text else { throw Failure(description: "the page has ended") }
        let message = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
        if let method = message["method"] as? String {
            events.append((method, message["params"] as? [String: Any] ?? [:]))
        }
        return message
    }
}
