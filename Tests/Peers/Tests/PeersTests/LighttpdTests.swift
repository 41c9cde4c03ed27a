import Peers
import Testing

@Suite struct LighttpdTests {
    /// curl 7.88 computes SHA-512-256 differently from other programs, so that folder is not tested.
    @Test func asksForAPassword() async throws {
        let lighttpd = Lighttpd()
        try lighttpd.start()
        defer { lighttpd.stop() }
        try lighttpd.write("secret.txt", Array("treasure".utf8))
        for folder in ["basic", "md5", "sha256", "both", "userhash"] {
            let url = lighttpd.url("/\(folder)/secret.txt")
            for user in ["alice:open sesame", "Jäsøn:sésame"] {
                #expect(try await curl("-u", user, url) == "treasure", "\(folder) \(user)")
            }
            #expect(try await curl("-u", "alice:wrong", "-o/dev/null", "-w%{http_code}", url) == "401")
        }
    }

    private func curl(_ arguments: String...) async throws -> String {
        let result = try await Command(Program("curl"), ["-sS", "-m", "20", "--anyauth"] + arguments).run()
        return result.text + result.errors
    }
}
