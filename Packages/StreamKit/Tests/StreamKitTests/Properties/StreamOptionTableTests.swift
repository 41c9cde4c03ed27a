import Testing

@_spi(Packages) @testable import StreamKit

/// The fields of a structure as properties.
@Suite struct StreamOptionTableTests {
    struct Options: Sendable {
        var folder = "INBOX"
        var limit: Int?
        var user: String?
        var place: String?
        var without = 0

        static let table = StreamOptionTable(
            "Mailbox", defaults: Options(),
            [
                .using("folder", \.folder), .using("limit", \.limit), .connecting("place", \.place),
                .using("user", \.user),
            ],
            check: { (options) throws(StreamError) in
                if options.user?.isEmpty == true { throw .refused("Mailbox.user", "it is empty.") }
            })
    }

    private static let kind = StreamKind("a mailbox", StreamPropertyTable().including(Options.table))

    @Test func keysHaveTheNamesAndTheDefaultsOfTheFields() {
        let folder = Options.table[\.folder]
        #expect(folder.name == "Mailbox.folder" && folder.defaultValue == "INBOX" && !folder.isNote)
        #expect(folder.access == .beforeOpen)
        let limit = Options.table[\.limit]
        #expect(limit.name == "Mailbox.limit" && limit.defaultValue == nil)
    }

    @Test func valuesAreSetAndReadByName() throws {
        var options = Options()
        #expect(try Options.table.set("Sent", named: "Mailbox.folder", in: &options))
        #expect(try Options.table.set(3, named: "Mailbox.limit", in: &options))
        #expect(options.folder == "Sent" && options.limit == 3)
        #expect(Options.table.value(named: "Mailbox.folder", in: options) as? String == "Sent")
        #expect(Options.table.value(named: "Mailbox.limit", in: options) as? Int == 3)
        // Nil restores the default, and so does a value of another type.
        #expect(try Options.table.set(nil, named: "Mailbox.folder", in: &options))
        #expect(try Options.table.set("3", named: "Mailbox.limit", in: &options))
        #expect(options.folder == "INBOX" && options.limit == nil)
        #expect(Options.table.value(named: "Mailbox.limit", in: options) == nil)
        #expect(try !Options.table.set(1, named: "Mailbox.without", in: &options))
        #expect(Options.table.value(named: "Mailbox.without", in: options) == nil)
    }

    @Test func anInvalidValueIsRefusedAndChangesNothing() throws {
        var options = Options()
        options.user = "ann"
        #expect(throws: StreamError.self) { try Options.table.set("", named: "Mailbox.user", in: &options) }
        #expect(options.user == "ann")
        #expect(try Options.table.set("bob", named: "Mailbox.user", in: &options))
        #expect(options.user == "bob")
        options.user = ""
        #expect(throws: StreamError.self) { try Options.table.set("Sent", named: "Mailbox.folder", in: &options) }
        #expect(options.folder == "INBOX")
    }

    @Test func aKindHasARowForEachOption() {
        #expect(Self.kind.properties.names == ["Mailbox.folder", "Mailbox.limit", "Mailbox.place", "Mailbox.user"])
        #expect(Self.kind.properties.role(of: "Mailbox.place") == .connecting)
        #expect(Self.kind.properties.role(of: "Mailbox.folder") == .using)
        #expect(Self.kind.honours(Options.table[\.user]) && !Self.kind.honours(Options.table[\.without]))
        let fewer = StreamPropertyTable().including(Options.table, without: [\.limit, \.user])
        #expect(fewer.names == ["Mailbox.folder", "Mailbox.place"])
    }

    @Test func optionsAmongPropertiesAreFound() {
        var properties = StreamProperties()
        properties[.openTimeout] = .seconds(1)
        #expect(Options.table.label(in: properties) == nil)
        properties[Options.table[\.limit]] = 1
        #expect(Options.table.label(in: properties) == "limit")
    }
}
