import ArgumentParser
import NetKit

/// `netkit token decode`: shows tokens of NTLM and Negotiate.
struct TokenDecodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decode",
        abstract: "Shows what an NTLM, SPNEGO or Kerberos token says.",
        discussion: """
            Examples:
              netkit token decode TlRMTVNTUAABAAAA…
              netkit token decode 'WWW-Authenticate: Negotiate oYG3MIG0…'
              curl -v … 2>&1 | grep -i authenticate: | tr -d '<>' | netkit token decode

            Without an argument each line of standard input is one. What passwords could be tried on is not shown.
            """
    )

    @Argument(help: "Base 64, with or without the scheme and the field's name before it.")
    var token: [String] = []

    func run() throws {
        if !token.isEmpty { return try show(token.joined(separator: " ")) }
        var isFirst = true
        while let line = readLine() {
            guard line.contains(where: { !$0.isWhitespace }) else { continue }
            if !isFirst { print() }
            isFirst = false
            try show(line)
        }
    }

    private func show(_ text: String) throws {
        do throws(HTTPAuthError) {
            for line in try AuthenticationToken(text: text).description.split(separator: "\n") {
                print(Terminal.shown(String(line)))
            }
        } catch {
            Terminal.say("netkit: \(Terminal.shown(error.description))")
            throw ExitCode.failure
        }
    }
}
