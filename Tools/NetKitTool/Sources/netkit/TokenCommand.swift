import ArgumentParser
import NetKit

/// `netkit token decode`: decodes NTLM and Negotiate tokens.
struct TokenDecodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decode",
        abstract: "Decodes an NTLM, SPNEGO or Kerberos token.",
        discussion: """
            Examples:
              netkit token decode TlRMTVNTUAABAAAA…
              netkit token decode 'WWW-Authenticate: Negotiate oYG3MIG0…'
              curl -v … 2>&1 | grep -i authenticate: | tr -d '<>' | netkit token decode

            Without an argument, each line of standard input is a token. Values from which passwords could be guessed are \
            not shown.
            """
    )

    @Argument(help: "The token in base64, with or without scheme and header name.")
    var token: [String] = []

    @Flag(help: "Print one JSON object per token, one per line.")
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
            Terminal.say("netkit: No token was given, neither as an argument nor on standard input.")
            throw ExitCode.failure
        }
    }

    private func show(_ text: String) throws {
        do throws(HTTPAuthError) {
            let token = try AuthenticationToken(text: text)
            let lines = token.description.split(separator: "\n").map(String.init)
            if json { return JSONOutput.show(["kind": token.kind.rawValue, "says": lines]) }
            for line in lines { Terminal.print("\(line)") }
        } catch {
            if json { JSONOutput.show(["error": JSONOutput.error(error)]) }
            Terminal.say("netkit: \(error.description)")
            throw ExitCode.failure
        }
    }
}

/// `netkit token`: the verbs for authentication tokens.
struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Decodes authentication tokens.", subcommands: [TokenDecodeCommand.self])
}
