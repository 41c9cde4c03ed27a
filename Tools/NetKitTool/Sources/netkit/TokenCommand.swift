import ArgumentParser

/// `netkit token`: what stands in tokens of authentication.
struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Looks into tokens of authentication.", subcommands: [TokenDecodeCommand.self])
}
