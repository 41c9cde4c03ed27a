// The API of this module uses types of both, so importing it imports them too.
@_exported public import EventLoops
@_exported public import HTTPMessage
