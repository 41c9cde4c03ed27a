/// The path in a 257 (RFC 959 App. II): in quotes, and a quote in it doubled.
enum DirectoryReply {
    static func path(_ reply: FTPReply) -> [UInt8]? {
        let quote = UInt8(ascii: "\"")
        guard let line = reply.lines.last, let start = line.firstIndex(of: quote) else { return nil }
        var path: [UInt8] = []
        var place = start + 1
        while place < line.count {
            if line[place] == quote {
                guard place + 1 < line.count, line[place + 1] == quote else { return path.isEmpty ? nil : path }
                place += 1
            }
            path.append(line[place])
            place += 1
        }
        return nil
    }
}
