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

    @Flag(help: "Print one JSON object a line for each token.")
    var json = false

    func run() throws {
        if !token.isEmpty { return try show(token.joined(separator: " ")) }
        var isFirst = true
        while let line = readLine() {
            guard line.contains(where: { !$0.isWhitespace }) else { continue }
            if !isFirst, !json { Terminal.print("") }
            isFirst = false
            try show(line)
        }
        if isFirst {
            Terminal.say("netkit: There is no token: neither an argument nor a line on standard input.")
            throw ExitCode.failure
        }
    }

    private func show(_ text: String) throws {
        do throws(HTTPAuthError) {
            let token = try AuthenticationToken(text: text)
            let lines = token.description.split(separator: "\n").map(String.init)
            if json { return JSONOutput.show(["kind": token.kind, "says": lines]) }
            for line in lines { Terminal.print("\(line)") }
        } catch {
            if json { JSONOutput.show(["error": JSONOutput.error(error)]) }
            Terminal.say("netkit: \(error.description)")
            throw ExitCode.failure
        }
    }
}

extension AuthenticationToken {
    /// What it is, in a word that scripts may go by.
    fileprivate var kind: String {
        switch self {
        case .ntlmNegotiate: "ntlm-negotiate"
        case .ntlmChallenge: "ntlm-challenge"
        case .ntlmAuthenticate: "ntlm-authenticate"
        case .spnego: "spnego"
        case .kerberos: "kerberos"
        case .other: "other"
        }
    }
}

/// `netkit token`: what stands in tokens of authentication.
struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Looks into tokens of authentication.", subcommands: [TokenDecodeCommand.self])
}
