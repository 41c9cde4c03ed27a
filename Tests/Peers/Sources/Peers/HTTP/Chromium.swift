/// Chromium without a window, controlled by the DevTools protocol, which is JSON over WebSockets.
///
/// ```swift
/// let browser = Chromium()
/// try browser.start()
/// browser.url("/json/new?about:blank")    // PUT: opens a page, and returns the URL of its WebSocket
/// browser.panel("network", ofPage: id)    // the developer tools, themselves a page
/// ```
public final class Chromium: Peer {
    /// The browser itself, not Debian's script around it, so that it is the process that is stopped.
    public static let program = Program(
        "chromium-headless-shell", package: "chromium-headless-shell", in: "/usr/lib/chromium")
    /// The process of the browser.
    public let process: PeerProcess

    /// Creates a browser that is not started yet.
    public init(in namespace: NetworkNamespace? = nil) {
        process = PeerProcess(in: namespace)
    }

    /// Starts the browser and returns when it accepts DevTools connections.
    public func start() throws(PeerError) {
        try process.start(Self.program, ports: 1) { scratch, ports throws(PeerError) in
            let port = ports[0]
            return PeerProcess.Launch(
                arguments: [
                    // Its sandbox needs privileges that containers and root lack. Tests open only pages of their own.
                    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server",
                    "--user-data-dir=\(try scratch.folder("profile"))", "--remote-debugging-port=\(port)",
                    // The developer tools are a page of this origin.
                    "--remote-allow-origins=http://127.0.0.1:\(port)", "--window-size=1200,800", "about:blank",
                ],
                sockets: ListeningSocket.tcp(port), announcement: "DevTools listening on")
        }
    }

    /// The URL of `path` on the DevTools port; `path` must begin with a slash.
    public func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    /// The URL of a panel of the browser's developer tools.
    ///
    /// - Parameters:
    ///   - name: the panel, such as `network`.
    ///   - page: the id of the page that the tools are attached to.
    public func panel(_ name: String, ofPage page: String) -> String {
        url("/devtools/devtools_app.html?ws=127.0.0.1:\(port)/devtools/page/\(page)&panel=\(name)")
    }
}
