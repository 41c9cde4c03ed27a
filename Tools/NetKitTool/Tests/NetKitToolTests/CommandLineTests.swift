import NetKit
import Testing

/// Command lines with mistakes.
@Suite struct CommandLineTests {
    @Test(
        "an unknown option is named before any value is judged",
        arguments: [
            (["get", "--foo", "3", "http://h.invalid/"], "Unknown option --foo.\nUsage: netkit get "),
            (["get", "--complesed", "http://h.invalid/"], "Unknown option --complesed. Did you mean --compressed?"),
            (["get", "-Q", "x", "http://h.invalid/"], "Unknown option -Q."),
            (["rm", "-rh", "ftp://h.invalid/"], "-rh: -h prints the help of rm and cannot be combined"),
            (["token", "decode", "--jsn", "x"], "Unknown option --jsn. Did you mean --json?"),
            (["gte", "http://h.invalid/"], "Unknown verb 'gte'. Did you mean get?"),
            (["help", "gte"], "Unknown verb 'gte'. Did you mean get?"),
            (["lokoup", "x"], "Unknown verb 'lokoup'. Did you mean lookup?"),
            (["frobnicate"], "Unknown verb 'frobnicate'.\n"),
        ])
    func namesTheMistake(_ arguments: [String], _ words: String) async throws {
        let run = try await Tool.run(arguments)
        #expect(run.status == 64 && run.errors.contains(words) && run.output.isEmpty, "\(run.text)")
    }

    @Test(arguments: [["help"], ["help", "get"], ["get", "-h"], ["get", "--help"], ["--version"], ["-V"], []])
    func helpIsNoMistake(_ arguments: [String]) async throws {
        let run = try await Tool.run(arguments)
        #expect(run.status == 0 && !run.output.isEmpty && run.errors.isEmpty, "\(run.text)")
    }

    @Test("the version tells whether the public suffixes are known", arguments: ["--version", "-V"])
    func version(_ option: String) async throws {
        let run = try await Tool.run([option])
        let isInstalled = run.output.contains("\npublic suffix list: installed\n")
        #expect(run.output.hasPrefix("netkit ") && isInstalled == HTTPCookies.knowsPublicSuffixes, "\(run.text)")
    }

    @Test func aVerbOfAVerbHasItsOwnOptions() async throws {
        let token = "TlRMTVNTUAABAAAAB4IIogAAAAAAAAAAAAAAAAAAAAAGAbEdAAAADw=="
        let run = try await Tool.run(["token", "decode", "--json", token])
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.text)")
    }
}
