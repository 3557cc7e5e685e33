"""``ProtobufConverter``: Connect's schemas as Protobuf's, by the mapping of Confluent's ``ProtobufData``."""
