import ArgumentParser
import Foundation
import NetKit

/// `netkit ls`: lists a directory.
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "Lists a directory of an FTP server.",
        discussion: """
            Examples:
              netkit ls ftp://ftp.example.org/pub/
              netkit ls -l --tls required -u ann ftp://ftp.example.org/

            With -l a ? follows a date whose year is a guess, and Z one that is in UTC; others are by the server's clock.
            """)

    @Argument(help: "The URL of the directory.")
    var url: String

    @Flag(name: .short, help: "Tell kind, permissions, owner, size and date.")
    var long = false

    @OptionGroup var target: FTPTarget

    func run() async throws {
        let (client, path) = try await target.client(url)
        try await target.run(["url": JSONOutput.url(url)]) { [long, target] in
            let entries = try await client.list(path).sorted { $0.name < $1.name }
            if target.json { return ["entries": entries.map(ListCommand.facts)] }
            let sizeWidth = entries.map { $0.size.map { "\($0)".count } ?? 1 }.max() ?? 1
            for entry in entries {
                let name = entry.name
                guard long else {
                    Terminal.print("\(name)")
                    continue
                }
                let size = entry.size.map(String.init) ?? "-"
                let padding = String(repeating: " ", count: sizeWidth - size.count)
                let owner = [entry.owner, entry.group].compactMap { $0 }.joined(separator: ":")
                let link = entry.linkTarget.map { " -> " + $0 } ?? ""
                Terminal.print(
                    "\(mode(entry)) \(owner.isEmpty ? "-" : owner) \(padding)\(size) \(date(entry.date)) \(name)\(link)"
                )
            }
            return [:]
        }
    }

    private func mode(_ entry: ListingEntry) -> String {
        let letter =
            switch entry.kind {
            case .file: "-"
            case .directory: "d"
            case .link: "l"
            case .characterDevice: "c"
            case .blockDevice: "b"
            case .fifo: "p"
            case .socket: "s"
            case .unknown: "?"
            }
        guard let mode = entry.mode else { return letter + "?????????" }
        return letter
            + zip("rwxrwxrwx", 0...).map { mode & (0o400 >> UInt16($1)) == 0 ? "-" : String($0) }.joined()
    }

    private func date(_ date: ListingDate?) -> String {
        guard let date else { return "-" }
        var text = String(format: "%04d-%02d-%02d", date.year, date.month, date.day)
        if date.precision != .day { text += String(format: " %02d:%02d", date.hour, date.minute) }
        if date.zone == .utc { text += "Z" }
        return date.isYearGuessed ? text + "?" : text
    }

    private static func facts(_ entry: ListingEntry) -> JSONOutput.Facts {
        var facts: JSONOutput.Facts = ["name": entry.name, "kind": "\(entry.kind)", "format": entry.format.rawValue]
        facts["size"] = entry.size
        facts["owner"] = entry.owner
        facts["group"] = entry.group
        facts["mode"] = entry.mode.map { String($0, radix: 8) }
        facts["target"] = entry.linkTarget
        facts["date"] = entry.date.map { date -> JSONOutput.Facts in
            [
                "seconds": date.secondsSince1970(), "isYearGuessed": date.isYearGuessed,
                "isZoneKnown": date.zone != .unknown, "precision": "\(date.precision)",
            ]
        }
        return facts
    }
}
