import ArgumentParser
import Glibc

/// The tool: one verb for each thing a person does with NetKit.
@main
struct NetKitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "netkit",
        abstract: "Fetches pages, looks up names, and says why it failed when it fails.",
        discussion: """
            Exit codes, curl's where it has one:
              0  done
              3  the URL cannot be requested
              6  the name was not found
              7  no connection could be made
             18  the answer was cut short
             22  the server answered with a status of 400 or more, or refused
             23  a local file cannot be read or written
             28  a time limit passed
             35  the TLS handshake failed
             47  too many redirects, or a loop
             52  the server closed without an answer
             56  the connection was lost
             60  the server's certificate cannot be trusted
             97  a proxy refused, or makes no sense
             64  the command line is wrong
              1  anything else
            diagnose has its own: 0 works, 1 is broken, 2 cannot be told.

            With --json every verb prints an object, or one a line, whose error says what failed: sentence, and where the \
            network failed domain and code.
            """,
        version: PackageVersions.text,
        subcommands: [
            GetCommand.self, PutCommand.self, ListCommand.self, MakeDirectoryCommand.self, RemoveCommand.self,
            MoveCommand.self, ConnectCommand.self, ResolveCommand.self, DiagnoseCommand.self, ExplainAuthCommand.self,
            TokenCommand.self,
            BrowseCommand.self, LookupCommand.self, PublishCommand.self, MonitorCommand.self, TypesCommand.self,
            DomainsCommand.self,
        ]
    )

    /// Runs the verb that was asked for. Wrong words that are found only on the way are told with the verb's usage.
    static func main() async {
        do {
            var command = try parseAsRoot()
            do {
                if var verb = command as? any AsyncParsableCommand { try await verb.run() } else { try command.run() }
            } catch let error as ValidationError {
                Terminal.say("Error: \(error)\nUsage: \(ShownText(lines: usageString(for: type(of: command))))")
                throw ExitCode.validationFailure
            }
        } catch {
            // As exit(withError:) does it, but for what a terminal would obey: an error may quote a peer.
            let (message, code) = (ShownText(lines: fullMessage(for: error)), exitCode(for: error))
            if !message.text.isEmpty {
                if code.isSuccess { Terminal.print(message) } else { Terminal.say(message) }
            }
            Glibc.exit(code.rawValue)
        }
    }
}
