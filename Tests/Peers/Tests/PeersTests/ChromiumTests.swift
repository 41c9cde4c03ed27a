import Peers
import Testing

@Suite struct ChromiumTests {
    @Test func answersAndStops() async throws {
        let browser = Chromium()
        try browser.start()
        let version = try await Command("curl", "-sS", browser.url("/json/version")).run().text
        #expect(version.contains("Chrome/"), "\(version)")
        let tools = Command(
            "curl", "-sS", "-o/dev/null", "-w%{http_code}", browser.panel("network", ofPage: "1"))
        #expect(try await tools.run().text == "200")
        browser.stop()
        #expect(!browser.isRunning)
    }
}
