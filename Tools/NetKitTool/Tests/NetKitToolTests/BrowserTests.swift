import Foundation
import Peers
import Testing

/// The pages of `netkit` in a browser, and its HTTP archive in the browser's own developer tools.
@Suite(.serialized) final class BrowserTests {
    private let browser = Chromium()
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try browser.start()
    }

    deinit { browser.stop() }

    /// A server whose words are markup.
    private static func server() throws -> ScriptedServer {
        try .withLogin(redirect: "<script>document.title='x'</script>", page: "<img src=http://127.0.0.1:1/>")
    }

    /// The path of a new file.
    private func file(_ name: String) -> String { folder.file(name) }

    /// Opens a file, and verifies that it loads nothing else and breaks no policy.
    private func page(_ path: String) async throws -> BrowserPage {
        let page = try await BrowserPage(browser)
        try await page.open("file://\(path)")
        let requests = page.events("Network.requestWillBeSent").map {
            ($0["request"] as? [String: Any])?["url"] as? String
        }
        #expect(requests == ["file://\(path)"])
        let entries = page.events("Log.entryAdded").map { ($0["entry"] as? [String: Any])?["text"] as? String ?? "" }
        #expect(entries == [])
        #expect(try await page.value("document.scripts.length + document.images.length") as? Int == 0)
        return page
    }

    /// Whether nothing is wider than the window, also in that of a telephone.
    private func fits(_ page: BrowserPage) async throws -> Bool {
        var fits = true
        for width in [1200, 390] {
            let size: [String: Any] = ["width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false]
            try await page.call("Emulation.setDeviceMetricsOverride", size)
            fits = try await page.value("document.documentElement.scrollWidth <= innerWidth") as? Bool == true && fits
        }
        return fits
    }

    @Test("The report: a section for each request, aligned bars in their order, and text instead of markup")
    func report() async throws {
        let server = try Self.server()
        let url = "http://127.0.0.1:\(server.port)/"
        let run = try await Tool.run(["get", "-L", "-u", "ann:hunter2", "--report=html", file("a.html"), url])
        #expect(run.status == 0, "\(run.text)")
        let page = try await page(file("a.html"))
        let heads = try await page.texts("tr.hop th", "e.firstChild.data.trim()")
        #expect(
            heads == [
                "GET \(url) – 302 <script>document.title='x'</script>",
                "redirect: GET \(url)page?q=1 – 401 Unauthorized",
                "login: GET \(url)page?q=1 – 200 <img src=http://127.0.0.1:1/>",
            ])
        #expect(try await page.value("document.title") as? String == "netkit get \(url)")
        // The bars have the same column in all sections, and each begins where the one before it has ended.
        #expect(Set(try await page.texts("tbody td.bar", "e.offsetLeft + ' ' + e.offsetWidth")).count == 1)
        let starts = try await page.texts("tbody .bar span", "'' + e.getBoundingClientRect().left").compactMap(
            Double.init)
        #expect(starts.count >= 4 && starts == starts.sorted(), "\(starts)")
        let colours = try await page.texts("tbody .bar span", "getComputedStyle(e).backgroundColor")
        #expect(!colours.contains("rgba(0, 0, 0, 0)") && Set(colours).count >= 3, "\(colours)")
        #expect(try await fits(page))
    }

    @Test("The report of a load that failed") func failedReport() async throws {
        let run = try await Tool.run(
            ["get", "--report=html", file("a.html"), "--har", file("a.har"), "http://127.0.0.1:1/"])
        #expect(run.status == 7, "\(run.text)")
        let page = try await page(file("a.html"))
        #expect(
            try await page.texts("p.box") == ["The connection to 127.0.0.1:1 was refused: nothing is listening there."])
        #expect(
            try await page.texts("tr.hop th", "e.firstChild.data.trim()") == ["GET http://127.0.0.1:1/ – no response"])
        #expect(FileManager.default.fileExists(atPath: file("a.har")))
    }

    @Test("The certificates of a connection with TLS") func certificates() async throws {
        let nginx = Nginx(listeners: [.tls])
        try nginx.start()
        let root = try CertificateAuthority.shared().root
        let run = try await Tool.run(
            ["get", "--cacert", root, "--report=html", file("a.html"), nginx.url(.tls, "/hello")])
        #expect(run.status == 0, "\(run.text)")
        let page = try await page(file("a.html"))
        let tree = try await page.texts("pre").first ?? ""
        #expect(tree.hasPrefix("TLS 1.3, ") && tree.contains("└─ ") && tree.contains("expires "), "\(tree)")
        #expect(try await fits(page))
    }

    @Test("The diagnosis: the cause, its advice, and the ladder") func diagnosis() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            _ = try connection.readHead()
            try connection.send("HTTP/1.1 503 <script>alert(1)</script>\r\nContent-Length: 0\r\n\r\n")
        }
        let run = try await Tool.run(["diagnose", "--html", file("d.html"), "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 1, "\(run.text)")
        let page = try await page(file("d.html"))
        #expect(try await page.texts("p.box b").first?.hasPrefix("answer: ") == true)
        #expect(try await page.value("document.body.textContent.includes('503')") as? Bool == true)
        let ladder = try await page.texts("tr", "e.cells[0].textContent + ' ' + e.cells[1].textContent")
        #expect(ladder.contains("✔ connection") && ladder.contains("✘ answer"), "\(ladder)")
        #expect(try await fits(page))
    }

    /// The file goes through the panel's own "Import HAR file" button, as a user's does.
    @Test("The network panel of the developer tools imports the archive") func archive() async throws {
        let server = try Self.server()
        let url = "http://127.0.0.1:\(server.port)/first"
        let run = try await Tool.run(["get", "-L", "-u", "ann:hunter2", "--har", file("a.har"), url])
        #expect(run.status == 0, "\(run.text)")
        let inspected = try await BrowserPage(browser)
        let tools = try await BrowserPage(browser)
        try await tools.call("Page.setInterceptFileChooserDialog", ["enabled": true])
        try await tools.open(browser.panel("network", ofPage: inspected.id))
        let position = try await tools.wait(
            for: """
                (button => { const r = button?.getBoundingClientRect(); return r?.width ? [r.x + r.width / 2, r.y + r.height / 2] : null })
                (all('button').find(e => e.title.startsWith('Import HAR')))
                """)
        let point = try #require(position as? [Double])
        for type in ["mousePressed", "mouseReleased"] {
            try await tools.call(
                "Input.dispatchMouseEvent",
                ["type": type, "x": point[0], "y": point[1], "button": "left", "clickCount": 1])
        }
        let chooser = try await tools.event("Page.fileChooserOpened")
        let input = try #require(chooser["backendNodeId"] as? Int)
        try await tools.call("DOM.setFileInputFiles", ["files": [file("a.har")], "backendNodeId": input])
        let rows = try await tools.wait(
            for: """
                (rows => rows.length < 3 ? null : rows)(all('tr').filter(e => e.querySelector('td.name-column')?.innerText)
                    .map(e => [...e.cells].map(cell => cell.innerText)))
                """)
        let entries = try #require(rows as? [[String]])
        #expect(entries.map { $0[0] } == ["first", "page?q=1", "page?q=1"], "\(entries)")
        #expect(entries.map { $0[1].prefix(3) } == ["302", "401", "200"], "\(entries)")
        #expect(entries.allSatisfy { $0.contains { $0.hasSuffix("ms") } }, "\(entries)")
    }
}
